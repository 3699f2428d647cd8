import Foundation
import Testing

@testable import AppStoreSimulation

@Suite("The control API of the simulated store")
struct StoreControlTests {
    private static func get(_ path: String, _ apple: AppStoreSimulation) async throws -> WireClient.Outcome {
        let client = try await WireClient.connect(port: apple.port)
        try await client.send("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n")
        return try await client.next()
    }

    @Test("the simulation's control API accepts apps and store actions, and answers 400 to wrong actions")
    func actions() async throws {
        try await StoreBed.run { apple, _ in
            let app = """
                {"bundle_id":"com.example.other","app_apple_id":7,"products":[{"id":"coins"},
                 {"id":"pass","plan":{"group_id":"1","period_ms":1000,"grace_ms":0},
                  "price":{"milliunits":500,"currency":"EUR","storefront":"DEU"}}]}
                """
            #expect(try await apple.post("/control/apps", app).httpStatus == 200)
            func act(_ fields: String) async throws -> WireClient.Outcome {
                try await apple.post("/control/store", "{\(fields)}")
            }
            let buyer = #""bundle_id":"com.example.other","account":"lena""#
            let coins = try await act("\"action\":\"buy\",\(buyer),\"product\":\"coins\",\"quantity\":3")
            let id = try #require(coins.object["transaction_id"] as? String)
            let signed = try #require(coins.object["signed_transaction_info"] as? String)
            #expect(try StoreBed.claims(signed)["quantity"] as? Int == 3)
            let pass = try await act("\"action\":\"buy\",\(buyer),\"product\":\"pass\"")
            let original = try #require(pass.object["transaction_id"] as? String)
            for action in StoreAction.Name.allCases where action != .buy {
                let isOfPurchase: Bool =
                    switch action {
                    case .refund, .reverseRefund, .requestRefund, .declineRefund, .finish: true
                    default: false
                    }
                let answer = try await act(
                    """
                    "action":"\(action.rawValue)","transaction_id":"\(isOfPurchase ? id : original)","product":"pass",\
                    "milliseconds":5,"type":"METADATA_UPDATE","milli_percent":33333
                    """)
                // The purchase is neither family-shared nor a non-consumable, so `revoke` and `restore` must fail.
                #expect(answer.httpStatus == (action == .revoke || action == .restore ? 400 : 200), "\(action)")
            }
            for wrong in [
                "\"action\":\"dance\"", "\"action\":\"renew\"", "\"action\":\"renew\",\"transaction_id\":\"5\"",
                "\"action\":\"upgrade\",\"transaction_id\":\"\(original)\"", "\"action\":\"buy\",\"product\":\"coins\"",
            ] {
                #expect(try await act(wrong).httpStatus == 400, "\(wrong)")
            }
            let summary = try await Self.get("/control/store", apple)
            let read = try JSONDecoder().decode(StoreSummary.self, from: Data((summary.body ?? "").utf8))
            #expect(read.purchases.map(\.quantity).contains(3) && read.subscriptions.count == 1)
            #expect(read.notifications["METADATA_UPDATE"] == 1 && read.notifications["REFUND"] == 1)
            let told = try await Self.get("/control/notifications?from=1", apple).body ?? ""
            let list = try #require(JSONSerialization.jsonObject(with: Data(told.utf8)) as? [[String: Any]])
            #expect(list.count == read.notifications.values.reduce(0, +) - 1)
            #expect(
                list.first?["type"] as? String == "SUBSCRIBED" && list.first?["transaction_id"] as? String == original)
            let receipt = try await Self.get("/control/receipt?bundle_id=com.example.other&account=lena", apple)
            let data = try #require(receipt.object["receipt_data"] as? String)
            // The receipt has no coins, because the app finished their transactions.
            #expect(SimulatedReceipt(parsing: data)?.purchases.allSatisfy { $0.productID == "pass" } == true)
        }
    }

    @Test("by the control API a test scripts a failure of one endpoint or one id, and ends the failure of the id")
    func failures() async throws {
        try await StoreBed.run { apple, clock in
            let id = try apple.inStore { try $0.buy("gems", by: StoreBed.lena).id }
            let busy = #""behaviour":[{"answer":"status","status":4290000}]"#
            #expect(
                try await apple.post("/control/behaviour", "{\"api\":\"history\",\"id\":\"\(id)\",\(busy)}").httpStatus
                    == 200)
            #expect(try await apple.call("GET", "v2/history/\(id)", at: clock).httpStatus == 429)
            #expect(try await apple.call("GET", "v1/transactions/\(id)", at: clock).httpStatus == 200)
            _ = try await apple.post("/control/behaviour", "{\"api\":\"history\",\"id\":\"\(id)\"}")
            #expect(try await apple.call("GET", "v2/history/\(id)", at: clock).httpStatus == 200)
            _ = try await apple.post("/control/behaviour", "{\"api\":\"subscriptions\",\(busy)}")
            #expect(try await apple.call("GET", "v1/subscriptions/\(id)", at: clock).httpStatus == 429)
            let counters = try await Self.get("/control/counters", apple)
            #expect((counters.object["endpoints"] as? [String: Int])?["history"] == 2)
            #expect(try await apple.post("/control/behaviour", "{\"api\":\"dance\",\(busy)}").httpStatus == 400)
            #expect(try await Self.get("/control/nothing", apple).httpStatus == 404)
        }
    }
}
