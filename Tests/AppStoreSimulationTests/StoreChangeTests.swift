import Foundation
import Testing

@testable import AppStoreSimulation

@Suite("Changes in the simulated App Store, and its answers afterwards")
struct StoreChangeTests {
    private static let delivered = #""deliveryStatus":"DELIVERED","sampleContentProvided":false"#
    private static let consented = #""customerConsented":true"#

    @Test(
        "the simulated store lets a client finish a transaction twice, and drops a finished consumable from the receipt"
    )
    func finish() async throws {
        try await StoreBed.run { apple, clock in
            let id = try apple.inStore { store in
                try store.buy("gems", by: StoreBed.lena).id
            }
            #expect(SimulatedReceipt(parsing: apple.receiptData(of: StoreBed.lena))?.purchases.count == 1)
            for _ in 0..<2 {
                let answer = try await apple.call("POST", "v1/transactions/\(id)/finish", at: clock)
                #expect(answer.httpStatus == 200 && answer.body == "")
            }
            #expect(try await apple.call("POST", "v1/transactions/77/finish", at: clock).errorCode == 4_040_010)
            #expect(apple.inStore { $0.transactions[id]?.isFinished } == true)
            #expect(SimulatedReceipt(parsing: apple.receiptData(of: StoreBed.lena))?.purchases.count == 0)
            #expect(apple.counters.endpoints == ["finish": 3])
            let info = try await apple.call("GET", "v1/transactions/\(id)", at: clock)
            let claims = try StoreBed.claims(try #require(info.object["signedTransactionInfo"] as? String))
            #expect(claims["price"] as? Int == 990 && claims["currency"] as? String == "EUR")
            #expect(try await apple.call("DELETE", "v1/transactions/\(id)", at: clock).httpStatus == 404)
        }
    }

    @Test("the simulated store accepts or refuses consumption information by Apple's rules, and stores what it accepts")
    func consumption() async throws {
        try await StoreBed.run { apple, clock in
            let ids = try apple.inStore { store in
                var shared = SimulatedTerms()
                shared.ownership = "FAMILY_SHARED"
                return [
                    try store.buy("gems", by: StoreBed.lena).id, try store.buy("vip", by: StoreBed.lena).id,
                    try store.buy("builder", by: StoreBed.lena, shared).id,
                ]
            }
            func tell(_ id: String, _ fields: String) async throws -> Int? {
                let answer = try await apple.call("PUT", "v2/transactions/consumption/\(id)", "{\(fields)}", at: clock)
                return answer.errorCode ?? answer.httpStatus
            }
            let (gems, vip) = (ids[0], ids[1])
            let undelivered = Self.delivered.replacing("DELIVERED", with: "UNDELIVERED_OTHER")
            for (id, fields, expected) in [
                (gems, "\(Self.consented),\(Self.delivered)", 202),
                (
                    gems,
                    "\(Self.consented),\(Self.delivered),\"consumptionPercentage\":100000,\"refundPreference\":\"DECLINE\"",
                    202
                ),
                (vip, "\(Self.consented),\(Self.delivered),\"refundPreference\":\"GRANT_PRORATED\"", 202),
                (gems, "\(Self.consented),\(undelivered),\"consumptionPercentage\":0", 202),
                (vip, "\(Self.consented),\(undelivered)", 202),
                (gems, Self.delivered, 4_000_035),
                (gems, "\"customerConsented\":false,\(Self.delivered)", 4_000_035),
                (gems, "\(Self.consented),\"sampleContentProvided\":false", 4_000_036),
                (gems, "\(Self.consented),\"deliveryStatus\":\"DELIVERED\"", 4_000_041),
                (gems, "\(Self.consented),\(Self.delivered),\"refundPreference\":\"decline\"", 4_000_044),
                (gems, "\(Self.consented),\(Self.delivered),\"consumptionPercentage\":100001", 4_000_207),
                (gems, "\(Self.consented),\(undelivered),\"consumptionPercentage\":1", 4_000_208),
                (gems, "\(Self.consented),\(Self.delivered),\"refundPreference\":\"GRANT_PRORATED\"", 4_000_207),
                (vip, "\(Self.consented),\(Self.delivered),\"consumptionPercentage\":5", 4_000_209),
                (ids[2], "\(Self.consented),\(Self.delivered)", 4_000_185),
                ("77", "\(Self.consented),\(Self.delivered)", 4_040_010),
            ] {
                #expect(try await tell(id, fields) == expected, "\(fields)")
            }
            let kept = apple.inStore { $0.consumption }
            #expect(kept[gems]?.count == 3 && kept[vip]?.count == 2 && kept.count == 2)
            #expect(kept[gems]?[1].consumptionPercentage == 100_000 && kept[gems]?[1].refundPreference == "DECLINE")
        }
    }

    @Test(
        "a scripted failure applies to one endpoint, one id or all endpoints of the simulated API, and changes no state"
    )
    func failures() async throws {
        try await StoreBed.run { apple, clock in
            let id = try apple.inStore { store in
                try store.buy("gems", by: StoreBed.lena).id
            }
            apple.setBehaviour([.status(5_000_001), .genuine], of: .finish)
            #expect(try await apple.call("POST", "v1/transactions/\(id)/finish", at: clock).errorCode == 5_000_001)
            #expect(apple.inStore { $0.transactions[id]?.isFinished } == false)
            #expect(try await apple.call("POST", "v1/transactions/\(id)/finish", at: clock).httpStatus == 200)
            apple.setBehaviour([.http(429, headers: ["Retry-After": "1"])], of: .history, id: id)
            #expect(try await apple.call("GET", "v2/history/\(id)", at: clock).httpStatus == 429)
            #expect(try await apple.call("GET", "v1/subscriptions/\(id)", at: clock).httpStatus == 200)
            apple.setBehaviour([.status(401)])
            let body = "{\"startDate\":\(clock.now - 1),\"endDate\":\(clock.now)}"
            #expect(try await apple.call("POST", "v1/notifications/history", body, at: clock).httpStatus == 401)
            apple.setBehaviour(nil)
            #expect(try await apple.call("POST", "v1/notifications/history", body, at: clock).httpStatus == 200)
            #expect(apple.counters.endpoints == ["finish": 2, "history": 1, "subscriptions": 1, "notifications": 2])
            #expect(apple.requestLog.map(\.api).prefix(3) == [.finish, .finish, .history])
        }
    }

    @Test("the simulated API finds an order by its id, and answers status 1 to an unknown order id")
    func lookUp() async throws {
        try await StoreBed.run { apple, clock in
            let bought = try apple.inStore { store in
                try store.buy("gems", by: StoreBed.lena)
            }
            let found = try await apple.call("GET", "v1/lookup/\(bought.orderID)", at: clock).object
            #expect(found["status"] as? Int == 0)
            let signed = try #require((found["signedTransactions"] as? [String])?.first)
            #expect(try StoreBed.claims(signed)["transactionId"] as? String == bought.id)
            #expect(try await apple.call("GET", "v1/lookup/MK1", at: clock).object["status"] as? Int == 1)
        }
    }

    @Test("the simulated verifyReceipt shows renewals since the receipt's date, grace periods, upgrades and refunds")
    func latestReceipt() async throws {
        try await StoreBed.run { apple, clock in
            let first = try apple.inStore { store in
                try store.buy("vip", by: StoreBed.lena, SimulatedTerms(accountToken: StoreBed.token))
            }
            let receipt = apple.receiptData(of: StoreBed.lena)
            clock.pass(days: 30)
            let second = try apple.inStore { store in try store.renew(first.id) }
            let renewed = try await apple.ask(receipt)
            #expect(renewed.inApp.compactMap { $0["transaction_id"] as? String } == [first.id])
            #expect(Self.latest(renewed, "transaction_id") == [second.id, first.id])
            #expect(Self.latest(renewed, "app_account_token").first == StoreBed.token)
            let newest = try #require(renewed.object["latest_receipt"] as? String)
            #expect(SimulatedReceipt(parsing: newest)?.purchases.map(\.transactionID) == [first.id, second.id])
            #expect(Self.pending(renewed)["auto_renew_status"] == "1")
            clock.pass(days: 30)
            try apple.inStore { store in try store.failToRenew(first.id) }
            let grace = Self.pending(try await apple.ask(newest))
            #expect(grace["is_in_billing_retry_period"] == "1" && grace["expiration_intent"] == "2")
            #expect(grace["grace_period_expires_date_ms"] == "\(clock.now + 6 * StoreBed.day)")
            try apple.inStore { store in
                try store.renew(first.id)
                try store.upgrade(first.id, to: "vip.gold")
            }
            let upgraded = try await apple.ask(newest)
            let rows = upgraded.object["latest_receipt_info"] as? [[String: Any]] ?? []
            let given = rows.filter { $0["is_upgraded"] as? String == "true" }
            #expect(given.count == 1 && given[0]["cancellation_date_ms"] as? String == "\(clock.now)")
            #expect(Self.pending(upgraded)["auto_renew_product_id"] == "vip.gold")
            try apple.inStore { store in try store.refund(first.id) }
            #expect((try await apple.ask(receipt)).inApp.first?["cancellation_date_ms"] as? String == "\(clock.now)")
        }
    }

    @Test("the simulation answers an iOS 6 receipt with 21006 only while the subscription's newest period is over")
    func oldStyle() async throws {
        try await StoreBed.run { apple, clock in
            let first = try apple.inStore { store in try store.buy("vip", by: StoreBed.lena) }
            let receipt = SimulatedTransactionReceipt(
                bundleID: StoreBed.bundle, appAppleID: StoreBed.app.appAppleID, purchase: first.purchase
            ).base64Encoded()
            clock.pass(days: 31)
            let over = try await apple.ask(receipt)
            #expect(over.status == 21006 && over.object["latest_expired_receipt_info"] != nil)
            #expect(
                over.object["latest_receipt_info"] == nil && over.object["is_in_billing_retry_period"] as? String == "0"
            )
            let second = try apple.inStore { store in try store.renew(first.id) }
            let renewed = try await apple.ask(receipt)
            #expect(renewed.status == 0)
            let latest = renewed.object["latest_receipt_info"] as? [String: Any]
            #expect(latest?["transaction_id"] as? String == second.id)
            #expect(latest?["expires_date"] as? String == second.expiresAt.map { "\($0)" })
        }
    }

    private static func latest(_ answer: WireClient.Outcome, _ key: String) -> [String?] {
        (answer.object["latest_receipt_info"] as? [[String: Any]] ?? []).map { $0[key] as? String }
    }

    private static func pending(_ answer: WireClient.Outcome) -> [String: String] {
        let rows = answer.object["pending_renewal_info"] as? [[String: Any]] ?? []
        return (rows.first ?? [:]).compactMapValues { $0 as? String }
    }
}
