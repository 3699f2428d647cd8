import AppStore
import AppleProofs
import Fulfillment
import NamesAndTimes
import Testing

@Suite("Queries to the App Store Server API")
struct StoreQueryTests {
    private static let from = Timestamp(milliseconds: 1_777_600_000_000)
    private static let to = Timestamp(milliseconds: 1_777_603_600_000)

    @Test("the API client reads a transaction's facts, and counts an answer about another transaction as unproven")
    func transaction() async throws {
        let signed = try SignedByApple.transaction("1001", original: "1000", more: ",\"revocationDate\":1777629700000")
        try await ScriptedServerAPI.run { _ in
            .init(body: #"{"signedTransactionInfo":"\#(signed)"}"#)
        } _: { apple in
            guard case .answered(let told) = await apple.client.transaction("1001", ScriptedServerAPI.context())
            else {
                Issue.record("not answered")
                return
            }
            #expect(told.purchase.originalTransactionID == "1000" && told.kind == .autoRenewableSubscription)
            #expect(told.subscriptionGroupID == "205" && told.signedAt?.milliseconds == 1_777_629_605_000)
            #expect(told.purchase.cancelledAt?.milliseconds == 1_777_629_700_000)
            #expect(
                await apple.client.transaction("1000", ScriptedServerAPI.context())
                    == .trouble(.init(.unproven)))
            #expect(apple.uris[0] == "/production/inApps/v1/transactions/1001")
            #expect(apple.requests[0].method == "GET")
            #expect(apple.requests[0].headers["authorization"]?.hasPrefix("Bearer ") == true)
            #expect(apple.observer.requests.map(\.endpoint) == ["transactions", "transactions"])
            #expect(apple.observer.results == ["Production answered", "Production unproven"])
        }
    }

    @Test("if a store query's answer is about another app or environment, the API client counts the answer as unproven")
    func foreign() async throws {
        for signed in [
            try SignedByApple.transaction("1", bundle: "com.example.other"),
            try SignedByApple.transaction("1", environment: "Sandbox"),
        ] {
            try await ScriptedServerAPI.run { _ in
                .init(body: #"{"signedTransactionInfo":"\#(signed)"}"#)
            } _: {
                #expect(
                    await $0.client.transaction("1", ScriptedServerAPI.context()) == .trouble(.init(.unproven)))
            }
        }
    }

    @Test(
        "if a query names no environment, the API client asks Production, then the sandbox if Production lacks the id")
    func environments() async throws {
        let signed = try SignedByApple.transaction("1", environment: "Sandbox")
        try await ScriptedServerAPI.run { request in
            request.uri.hasPrefix("/sandbox/")
                ? .init(body: #"{"signedTransactionInfo":"\#(signed)"}"#) : .code(4_040_010)
        } _: { apple in
            guard case .answered(let told) = await apple.client.transaction("1", ScriptedServerAPI.context(nil))
            else {
                Issue.record("not answered")
                return
            }
            #expect(told.environment == .sandbox)
            #expect(await apple.client.transaction("1", ScriptedServerAPI.context(.production)) == .notFound)
            #expect(
                apple.observer.results == ["Production not_found", "Sandbox answered", "Production not_found"])
        }
    }

    @Test("the API client reads a customer's subscriptions with their states")
    func statuses() async throws {
        let body = SignedByApple.statuses(
            try SignedByApple.status(1, of: "1000"), try SignedByApple.status(4, of: "2000"))
        try await ScriptedServerAPI.run { _ in
            .init(body: body)
        } _: { apple in
            guard
                case .answered(let told) = await apple.client.subscriptionStatuses(
                    of: "1000", ScriptedServerAPI.context(.production, .subscriptions))
            else {
                Issue.record("not answered")
                return
            }
            #expect(told.map(\.state) == [.active, .gracePeriod])
            #expect(told.map(\.renewal.originalTransactionID) == ["1000", "2000"])
            #expect(told[0].transaction.purchase.transactionID == "10001" && told[0].subscriptionGroupID == "205")
            #expect(apple.uris == ["/production/inApps/v1/subscriptions/1000"])
            #expect(apple.observer.requests.map(\.endpoint) == ["subscriptions"])
        }
    }

    @Test("the API client requests each page of a customer's history with the same filter")
    func history() async throws {
        let signed = try SignedByApple.transaction("1001", original: "1000")
        var filter = TransactionHistoryFilter()
        filter.from = Self.from
        filter.productID = "a pass/é"
        filter.productKinds = [.consumable, .autoRenewableSubscription]
        filter.subscriptionGroupID = "205"
        try await ScriptedServerAPI.run { request in
            let hasMore = !request.uri.contains("revision=r%2B1")
            return .init(
                body: #"{"revision":"\#(hasMore ? "r+1" : "r2")","hasMore":\#(hasMore),"#
                    + #""signedTransactions":["\#(signed)"]}"#)
        } _: { apple in
            let context = ScriptedServerAPI.context()
            guard
                case .answered(let page) = await apple.client.transactionHistory(
                    of: "1000", filter, page: nil, context),
                case .answered(let last) = await apple.client.transactionHistory(
                    of: "1000", filter, page: page.next, context)
            else {
                Issue.record("not answered")
                return
            }
            #expect(page.transactions.map(\.purchase.transactionID) == ["1001"] && page.next == "r+1")
            #expect(last.next == nil)
            let rest =
                "startDate=1777600000000&productId=a%20pass%2F%C3%A9&productType=CONSUMABLE"
                + "&productType=AUTO_RENEWABLE&subscriptionGroupIdentifier=205"
            #expect(
                apple.uris == [
                    "/production/inApps/v2/history/1000?\(rest)",
                    "/production/inApps/v2/history/1000?revision=r%2B1&\(rest)",
                ])
            #expect(apple.observer.requests.map(\.endpoint) == ["transaction_history", "transaction_history"])
        }
    }

    @Test("the API client reads notification history page by page, with each body as Apple would have posted it")
    func notifications() async throws {
        let payload = try SignedByApple.transaction("1")
        try await ScriptedServerAPI.run { request in
            let item = #"{"signedPayload":"\#(payload)","sendAttempts":[{"sendAttemptResult":"NO_RESPONSE"}]}"#
            let isFirst = !request.uri.contains("paginationToken=t1%3D")
            let token = isFirst ? #""paginationToken":"t1=","# : ""
            return .init(body: #"{\#(token)"hasMore":\#(isFirst),"notificationHistory":[\#(item)]}"#)
        } _: { apple in
            let context = ScriptedServerAPI.context(.sandbox, .history)
            let window = NotificationHistoryWindow(from: Self.from, to: Self.to)
            guard
                case .answered(let page) = await apple.client.notificationHistory(window, page: nil, context),
                case .answered(let last) = await apple.client.notificationHistory(window, page: page.next, context)
            else {
                Issue.record("not answered")
                return
            }
            #expect(page.next == "t1=" && last.next == nil)
            #expect(page.bodies == [Array(#"{"signedPayload":"\#(payload)"}"#.utf8)])
            #expect(apple.uris[0] == "/sandbox/inApps/v1/notifications/history")
            #expect(apple.uris[1] == "/sandbox/inApps/v1/notifications/history?paginationToken=t1%3D")
            #expect(apple.requests.allSatisfy { $0.method == "POST" })
            #expect(
                apple.requests.allSatisfy { $0.body == #"{"startDate":1777600000000,"endDate":1777603600000}"# })
            #expect(apple.requests[0].headers["content-type"] == "application/json")
        }
    }

    @Test("the API client requests a test notification, and reads its delivery attempts")
    func testNotification() async throws {
        try await ScriptedServerAPI.run { request in
            .init(
                body: request.method == "POST"
                    ? #"{"testNotificationToken":"t_1"}"# : #"{"sendAttempts":[{"sendAttemptResult":"TIMED_OUT"}]}"#)
        } _: { apple in
            let context = ScriptedServerAPI.context()
            #expect(await apple.client.requestTestNotification(context) == .answered("t_1"))
            #expect(await apple.client.testNotificationStatus("t_1", context) == .answered(["TIMED_OUT"]))
            let path = "/production/inApps/v1/notifications/test"
            #expect(apple.uris == [path, "\(path)/t_1"])
            #expect(apple.requests.map(\.method) == ["POST", "GET"])
            #expect(apple.requests[0].body.isEmpty && apple.requests[0].headers["content-length"] == "0")
            #expect(apple.observer.requests.map(\.endpoint) == ["test_notification", "test_notification"])
        }
    }

    @Test("the API client returns an order's transactions or an empty list, and sends no malformed order number")
    func orderLookup() async throws {
        let signed = try SignedByApple.transaction("1001", original: "1000")
        try await ScriptedServerAPI.run { request in
            let isKnown = request.uri.hasSuffix("/MK5TTTVWJ3")
            return .init(body: isKnown ? #"{"status":0,"signedTransactions":["\#(signed)"]}"# : #"{"status":1}"#)
        } _: { apple in
            let context = ScriptedServerAPI.context()
            guard case .answered(let found) = await apple.client.lookUpOrder("MK5TTTVWJ3", context) else {
                Issue.record("not answered")
                return
            }
            #expect(found.map(\.purchase.transactionID) == ["1001"])
            #expect(await apple.client.lookUpOrder("MK1", context) == .answered([]))
            for order in ["", "..", "a/b", "a?b", String(repeating: "M", count: 65)] {
                guard case .refused = await apple.client.lookUpOrder(order, context) else {
                    Issue.record("asked for \(order)")
                    continue
                }
            }
            let path = "/production/inApps/v1/lookup"
            #expect(apple.uris == ["\(path)/MK5TTTVWJ3", "\(path)/MK1"])
            #expect(apple.observer.requests.map(\.endpoint) == ["order_lookup", "order_lookup"])
        }
    }

    @Test("the API client can finish a transaction twice, each time with an empty POST to the finish endpoint")
    func finish() async throws {
        try await ScriptedServerAPI.run { _ in
            .init()
        } _: { apple in
            let context = ScriptedServerAPI.context(.production, .background)
            #expect(await apple.client.finish("1000", context) == .answered(true))
            #expect(await apple.client.finish("1000", context) == .answered(true))
            #expect(apple.uris[0] == "/production/inApps/v1/transactions/1000/finish")
            #expect(apple.requests[0].method == "POST" && apple.requests[0].body.isEmpty)
            #expect(apple.requests[0].headers["content-length"] == "0")
            #expect(apple.observer.requests.map(\.endpoint) == ["finish", "finish"])
        }
    }

    @Test("the API client sends consumption information with Apple's names of fields and values")
    func consumption() async throws {
        try await ScriptedServerAPI.run { _ in
            .init(status: 202)
        } _: { apple in
            let context = ScriptedServerAPI.context(.production, .background)
            let full = ConsumptionAnswer(
                delivery: .delivered, providesSampleContent: true, consumedMilliPercent: 25_000,
                refundPreference: .grantProrated)
            let short = ConsumptionAnswer(delivery: .undelivered, providesSampleContent: false)
            #expect(await apple.client.answerConsumption(of: "1000", full, context) == .answered(true))
            #expect(await apple.client.answerConsumption(of: "1000", short, context) == .answered(true))
            #expect(apple.uris[0] == "/production/inApps/v2/transactions/consumption/1000")
            #expect(apple.requests.allSatisfy { $0.method == "PUT" })
            #expect(
                apple.requests.map(\.body) == [
                    #"{"customerConsented":true,"consumptionPercentage":25000,"deliveryStatus":"DELIVERED","#
                        + #""refundPreference":"GRANT_PRORATED","sampleContentProvided":true}"#,
                    #"{"customerConsented":true,"deliveryStatus":"UNDELIVERED_OTHER","sampleContentProvided":false}"#,
                ])
        }
    }

    @Test(
        "no store query sends an id that would change the request's URL",
        arguments: ["../v2/history/1", "1?x=1", "1\r\nx:1", "", "é"])
    func hostileIDs(id: String) async throws {
        try await ScriptedServerAPI.run { _ in
            .init()
        } _: { apple in
            let id = StoreTransactionID(id)
            let context = ScriptedServerAPI.context()
            let answer = ConsumptionAnswer(delivery: .delivered, providesSampleContent: false)
            #expect(await apple.client.transaction(id, context) == .refused(code: 4_000_006))
            #expect(await apple.client.subscriptionStatuses(of: id, context) == .refused(code: 4_000_006))
            #expect(
                await apple.client.transactionHistory(of: id, .init(), page: nil, context)
                    == .refused(code: 4_000_006))
            #expect(await apple.client.finish(id, context) == .refused(code: 4_000_006))
            #expect(await apple.client.answerConsumption(of: id, answer, context) == .refused(code: 4_000_006))
            #expect(apple.requests.isEmpty)
        }
    }
}
