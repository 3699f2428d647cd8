import Foundation
import Synchronization
import Testing

@testable import AppStoreSimulation

@Suite("Endpoints of the simulated App Store Server API")
struct StoreEndpointTests {
    @Test(
        "before a purchase returns, the simulated store delivers its notification with signed transaction and renewal")
    func notification() async throws {
        let bodies = Mutex<[SignedNotification]>([])
        let keep: @Sendable (SignedNotification) -> Void = { told in bodies.withLock { $0.append(told) } }
        try await StoreBed.run(notified: keep) { apple, clock in
            let vip = try apple.inStore { store in
                try store.buy("vip", by: StoreBed.lena, SimulatedTerms(accountToken: StoreBed.token, offer: .freeTrial))
            }
            let told = try #require(bodies.withLock { $0 }.first)
            #expect(told.type == "SUBSCRIBED" && told.transactionID == vip.id)
            let body = try #require(JSONSerialization.jsonObject(with: Data(told.body.utf8)) as? [String: Any])
            let payload = try StoreBed.claims(try #require(body["signedPayload"] as? String))
            #expect(payload["notificationUUID"] as? String == told.id)
            let data = try #require(payload["data"] as? [String: Any])
            #expect(data["appAppleId"] as? Int == 1_450_000_001 && data["status"] as? Int == 1)
            let claims = try StoreBed.claims(try #require(data["signedTransactionInfo"] as? String))
            #expect(claims["appAccountToken"] as? String == StoreBed.token)
            #expect(claims["offerDiscountType"] as? String == "FREE_TRIAL" && claims["price"] as? Int == 0)
            #expect(claims["transactionReason"] as? String == "PURCHASE" && claims["storefront"] as? String == "USA")
            #expect(claims["expiresDate"] as? Int64 == clock.now + 30 * StoreBed.day)
            let renewal = try StoreBed.claims(try #require(data["signedRenewalInfo"] as? String))
            #expect(renewal["autoRenewStatus"] as? Int == 1 && renewal["autoRenewProductId"] as? String == "vip")
            #expect(renewal["originalTransactionId"] as? String == vip.id)
        }
    }

    @Test(
        "the simulated API returns a subscription's status for any transaction of the customer, and filters by status")
    func statuses() async throws {
        try await StoreBed.run { apple, clock in
            let ids = try apple.inStore { store in
                let gems = try store.buy("gems", by: StoreBed.lena)
                return (gems.id, try store.buy("vip", by: StoreBed.lena).id)
            }
            clock.pass(days: 30)
            try apple.inStore { store in try store.failToRenew(ids.1) }
            let answer = try await apple.call("GET", "v1/subscriptions/\(ids.0)", at: clock)
            #expect(answer.object["bundleId"] as? String == StoreBed.bundle)
            let groups = try #require(answer.object["data"] as? [[String: Any]])
            #expect(groups.map { $0["subscriptionGroupIdentifier"] as? String } == ["7"])
            let items = try #require(groups.first?["lastTransactions"] as? [[String: Any]])
            #expect(items.count == 1 && items[0]["status"] as? Int == 4)
            let renewal = try StoreBed.claims(try #require(items[0]["signedRenewalInfo"] as? String))
            #expect(renewal["gracePeriodExpiresDate"] as? Int64 == clock.now + 6 * StoreBed.day)
            #expect(renewal["isInBillingRetryPeriod"] as? Bool == true && renewal["expirationIntent"] as? Int == 2)
            let none = try await apple.call("GET", "v1/subscriptions/\(ids.1)?status=1&status=2", at: clock)
            #expect((none.object["data"] as? [Any])?.isEmpty == true)
            #expect(try await apple.call("GET", "v1/subscriptions/99", at: clock).errorCode == 4_040_010)
            let other = try await apple.call("GET", "v1/subscriptions/\(ids.1)", at: clock, bundle: "com.example.other")
            #expect(other.errorCode == 4_040_010)
        }
    }

    @Test("the simulated API returns history in pages of twenty, in both directions, and continues after the last page")
    func history() async throws {
        try await StoreBed.run { apple, clock in
            let ids = try apple.inStore { store in
                var ids: [String] = []
                for _ in 0..<45 { ids.append(try store.buy("gems", by: StoreBed.lena).id) }
                return ids
            }
            func read(_ query: String) async throws -> (ids: [String], revision: String, hasMore: Bool) {
                let answer = try await apple.call("GET", "v2/history/\(ids[3])?\(query)", at: clock).object
                let signed = try #require(answer["signedTransactions"] as? [String])
                return (
                    try signed.compactMap { try StoreBed.claims($0)["transactionId"] as? String },
                    try #require(answer["revision"] as? String), try #require(answer["hasMore"] as? Bool)
                )
            }
            let first = try await read("")
            let second = try await read("revision=\(first.revision)")
            let third = try await read("revision=\(second.revision)")
            #expect(first.ids + second.ids + third.ids == ids)
            #expect([first.hasMore, second.hasMore, third.hasMore] == [true, true, false])
            #expect(try await read("revision=\(third.revision)").ids == [])
            clock.pass(days: 1)
            let builder = try apple.inStore { store in
                try store.refund(ids[7])
                return try store.buy("builder", by: StoreBed.lena).id
            }
            #expect(try await read("revision=\(third.revision)").ids == [ids[7], builder])
            #expect(try await read("sort=DESCENDING").ids.prefix(3) == [builder, ids[7], ids[44]])
            #expect(try await read("startDate=\(clock.now)").ids == [builder])
            #expect(try await read("endDate=\(clock.now)&productId=builder").ids == [])
            #expect(try await read("productType=NON_CONSUMABLE").ids == [builder])
            #expect(try await read("revoked=true").ids == [ids[7]])
            for (query, code) in [
                ("revision=x", 4_000_005), ("sort=UP", 4_000_021), ("startDate=2&endDate=1", 4_000_013),
                ("productType=GEMS", 4_000_022),
            ] {
                #expect(try await apple.call("GET", "v2/history/\(ids[0])?\(query)", at: clock).errorCode == code)
            }
        }
    }

    @Test("the simulated API returns notification history in pages, and refuses an app without a notification address")
    func notifications() async throws {
        try await StoreBed.run { apple, clock in
            for _ in 0..<3 {
                try apple.inStore { store in
                    for _ in 0..<15 { try store.buy("gems", by: StoreBed.lena) }
                }
                clock.pass(days: 1)
            }
            func read(_ body: String, token: String? = nil) async throws -> WireClient.Outcome {
                let query = token.map { "?paginationToken=\($0)" } ?? ""
                return try await apple.call("POST", "v1/notifications/history\(query)", body, at: clock)
            }
            func items(_ answer: WireClient.Outcome) throws -> [[String: Any]] {
                try #require(answer.object["notificationHistory"] as? [[String: Any]])
            }
            let window = "\"startDate\":\(StoreBed.start + StoreBed.day),\"endDate\":\(clock.now)"
            let first = try await read("{\(window)}")
            #expect(try items(first).count == 20 && first.object["hasMore"] as? Bool == true)
            let token = try #require(first.object["paginationToken"] as? String)
            let second = try await read("{\(window)}", token: token)
            #expect(try items(second).count == 10 && second.object["hasMore"] as? Bool == false)
            #expect(second.object["paginationToken"] == nil)
            let payloads = try (items(first) + items(second)).compactMap { $0["signedPayload"] as? String }
            let ids = try payloads.compactMap { try StoreBed.claims($0)["notificationUUID"] as? String }
            #expect(ids == apple.notifications(from: 15).map(\.id))
            #expect(try await read("{\(window),\"onlyFailures\":true}", token: token).errorCode == 4_000_014)
            try apple.inStore { store in try store.attempted(ids[0], .success) }
            let failed = try await read("{\(window),\"onlyFailures\":true}")
            #expect(try items(failed).count == 20)
            #expect(failed.body?.contains("SUCCESS") == false)
            #expect(try await read("{\"startDate\":1,\"endDate\":2}").errorCode == 4_000_012)
            #expect(try await read("{\"startDate\":\(clock.now),\"endDate\":2}").errorCode == 4_000_013)
            #expect(
                try await read("{\(window),\"notificationType\":\"A\",\"transactionId\":\"1\"}").errorCode == 4_000_019)
            #expect(try items(try await read("{\(window),\"notificationType\":\"REFUND\"}")).isEmpty)
            apple.inStore { store in
                var app = StoreBed.app
                app.hasNotificationURL = false
                store.add(app)
            }
            #expect(try await read("{\(window)}").errorCode == 4_040_007)
        }
    }
}
