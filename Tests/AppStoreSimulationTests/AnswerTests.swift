import AppStoreSimulation
import Foundation
import Testing

@Suite("Answers of the simulated verifyReceipt")
struct AnswerTests {
    @Test("The simulated verifyReceipt answers a production receipt with the fields and forms of a real answer")
    func shape() async throws {
        var options = AppStoreSimulation.Options()
        options.now = { 1_688_018_260_446 }
        let answer = try await withApple(options: options) { try await $0.ask(receipt().base64Encoded()) }
        #expect(answer.status == 0)
        #expect(answer.object["environment"] as? String == "Production")
        #expect(answer.receipt["receipt_type"] as? String == "Production")
        #expect(answer.receipt["adam_id"] as? Int == 1_149_703_708)
        #expect(answer.receipt["bundle_id"] as? String == "com.example.game")
        #expect(answer.receipt["request_date"] as? String == "2023-06-29 05:57:40 Etc/GMT")
        #expect(answer.receipt["request_date_ms"] as? String == "1688018260446")
        #expect(answer.receipt["request_date_pst"] as? String == "2023-06-28 22:57:40 America/Los_Angeles")
        #expect(answer.object["latest_receipt_info"] == nil)
        let purchase = try #require(answer.inApp.first as? [String: String])
        #expect(
            purchase == [
                "quantity": "3", "product_id": "gold.1", "transaction_id": "350000191094279",
                "original_transaction_id": "350000191094279", "purchase_date": "2023-06-28 00:55:52 Etc/GMT",
                "purchase_date_ms": "1687913752000",
                "purchase_date_pst": "2023-06-27 17:55:52 America/Los_Angeles",
                "original_purchase_date": "2023-06-28 00:55:52 Etc/GMT",
                "original_purchase_date_ms": "1687913752000",
                "original_purchase_date_pst": "2023-06-27 17:55:52 America/Los_Angeles", "is_trial_period": "false",
                "in_app_ownership_type": "PURCHASED",
            ])
    }

    @Test("The simulated verifyReceipt gives right Pacific dates in winter and around the clock changes")
    func pacificDates() async throws {
        // The times are in winter, and in the last second before and the first second after each clock change of 2017.
        let expected: [(Int64, String)] = [
            (1_484_283_892_000, "2017-01-12 21:04:52 America/Los_Angeles"),
            (1_489_312_799_000, "2017-03-12 01:59:59 America/Los_Angeles"),
            (1_489_312_800_000, "2017-03-12 03:00:00 America/Los_Angeles"),
            (1_509_872_399_000, "2017-11-05 01:59:59 America/Los_Angeles"),
            (1_509_872_400_000, "2017-11-05 01:00:00 America/Los_Angeles"),
            (1_582_934_400_000, "2020-02-28 16:00:00 America/Los_Angeles"),
        ]
        try await withApple { apple async throws in
            for (milliseconds, text) in expected {
                var receipt = receipt()
                receipt.creationDateMilliseconds = milliseconds
                let answer = try await apple.ask(receipt.base64Encoded())
                #expect(answer.receipt["receipt_creation_date_pst"] as? String == text)
            }
        }
    }

    @Test("The simulated verifyReceipt lists the 300 purchases of a receipt in the receipt's order")
    func many() async throws {
        var receipt = receipt()
        receipt.purchases = (0..<300).map { SimulatedPurchase(transactionID: "\($0)", productID: "gold.1") }
        let text = receipt.base64Encoded()
        let answer = try await withApple { try await $0.ask(text) }
        #expect(answer.inApp.map { $0["transaction_id"] as? String } == (0..<300).map { "\($0)" })
    }

    @Test(
        "If a receipt has subscriptions, the simulated answer has latest_receipt_info, newest first, and latest_receipt"
    )
    func subscriptions() async throws {
        var receipt = receipt(.sandbox)
        receipt.purchases += (1...3).map { month in
            SimulatedPurchase(
                transactionID: "s\(month)", originalTransactionID: "s1", productID: "monthly",
                kind: .autoRenewableSubscription,
                purchaseDateMilliseconds: 1_690_000_000_000 + Int64(month) * 2_592_000_000,
                expiresDateMilliseconds: 1_690_000_000_000 + Int64(month + 1) * 2_592_000_000,
                appAccountToken: "token", webOrderLineItemID: Int64(month))
        }
        let text = receipt.base64Encoded()
        try await withApple { apple async throws in
            let answer = try await apple.ask(text, at: .sandbox)
            let latest = answer.object["latest_receipt_info"] as? [[String: Any]] ?? []
            #expect(latest.map { $0["transaction_id"] as? String } == ["s3", "s2", "s1", "350000191094279"])
            #expect(latest.first?["app_account_token"] as? String == "token")
            #expect(latest.first?["expires_date_ms"] as? String == "1700368000000")
            #expect(answer.inApp.count == 4)
            #expect(answer.inApp.last?["app_account_token"] == nil)
            #expect(answer.object["latest_receipt"] as? String == text)
            #expect(answer.receipt["adam_id"] as? Int == 0)
            #expect(answer.receipt["receipt_type"] as? String == "ProductionSandbox")
            #expect((answer.object["pending_renewal_info"] as? [Any])?.count == 1)
            let newest = try await apple.ask(text, at: .sandbox, extra: ",\"exclude-old-transactions\":true")
            #expect((newest.object["latest_receipt_info"] as? [Any])?.count == 2)
        }
    }

    @Test("Each simulated environment answers a receipt of the other environment with 21007 or 21008")
    func environments() async throws {
        try await withApple { apple async throws in
            #expect(try await apple.ask(receipt(.sandbox).base64Encoded()).body == "{\"status\":21007}")
            #expect(try await apple.ask(receipt().base64Encoded(), at: .sandbox).body == "{\"status\":21008}")
            #expect(try await apple.ask(receipt(.sandbox).base64Encoded(), at: .sandbox).status == 0)
        }
    }

    @Test(
        "The simulated answer to an iOS 6 receipt has the old form, and status 21006 after the subscription's expiry",
        arguments: SimulatedTransactionReceipt.Spacing.allCases)
    func transactionReceipts(_ spacing: SimulatedTransactionReceipt.Spacing) async throws {
        var receipt = SimulatedTransactionReceipt(
            bundleID: "com.example.application", appAppleID: 123, applicationVersion: "220",
            purchase: SimulatedPurchase(
                transactionID: "1234567890", productID: "p1", purchaseDateMilliseconds: 1_361_210_751_012),
            spacing: spacing)
        try await withApple { apple async throws in
            let answer = try await apple.ask(receipt.base64Encoded())
            #expect(answer.status == 0)
            #expect(answer.receipt["bid"] as? String == "com.example.application")
            #expect(answer.receipt["purchase_date_ms"] as? String == "1361210751012")
            #expect(answer.receipt["transaction_id"] as? String == "1234567890")
            #expect(answer.receipt["in_app"] == nil)
            receipt.purchase.expiresDateMilliseconds = 1_363_210_751_012
            let expired = try await apple.ask(receipt.base64Encoded())
            #expect(expired.status == 21006)
            #expect(expired.receipt["expires_date"] as? String == "1363210751012")
            receipt.environment = .sandbox
            #expect(try await apple.ask(receipt.base64Encoded()).status == 21007)
        }
    }

    @Test("If an app has a shared secret, the simulation answers 21004 to a wrong or missing password")
    func sharedSecrets() async throws {
        var options = AppStoreSimulation.Options()
        options.sharedSecrets = ["com.example.game": "s3cret"]
        try await withApple(options: options) { apple async throws in
            let text = receipt().base64Encoded()
            #expect(try await apple.ask(text, extra: ",\"password\":\"s3cret\"").status == 0)
            #expect(try await apple.ask(text, extra: ",\"password\":\"other\"").status == 21004)
            #expect(try await apple.ask(text).status == 21004)
        }
    }

    @Test("The simulation reads receipt-data despite escapes, line breaks and other fields")
    func spelling() async throws {
        let text = receipt().base64Encoded()
        let escaped = text.replacingOccurrences(of: "/", with: "\\/").replacingOccurrences(of: "+", with: "\\u002b")
        let lines = text.enumerated().map { $0.offset % 64 == 63 ? "\($0.element)\\r\\n" : "\($0.element)" }.joined()
        let bodies = [
            "{\"receipt-data\":\"\(escaped)\"}",
            "{\"receipt-data\":\"\(lines)\"}",
            " { \"a\" : [ { \"b\" : \"}\\\"\" } , null , -1.5e3 ] ,\n\"receipt-data\" : \"\(text)\" , \"c\" : true } ",
        ]
        try await withApple { apple async throws in
            for body in bodies { #expect(try await apple.post("/verifyReceipt", body).status == 0) }
        }
    }

    @Test("The simulation answers 21002 to a text that is no receipt, and 21000 to a body that is no request")
    func refusals() async throws {
        try await withApple { apple async throws in
            for junk in ["Y29tLnVydXMuaWFwLjk2NjU3Mjkw", "%%%", "", "MIIB", "YQ=", "e30="] {
                #expect(try await apple.ask(junk).body == "{\"status\":21002}")
            }
            #expect(try await apple.post("/verifyReceipt", "{}").status == 21002)
            #expect(try await apple.post("/verifyReceipt", "{\"receipt-data\":5}").status == 21002)
            for body in ["", "[]", "{", "{\"receipt-data\":\"", "{\"receipt-data\"", "nonsense", "{\"a\":}x"] {
                #expect(try await apple.post("/verifyReceipt", body).status == 21000)
            }
            let client = try await WireClient.connect(port: apple.port)
            try await client.send("GET /verifyReceipt HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await client.next().status == 21000)
        }
    }
}
