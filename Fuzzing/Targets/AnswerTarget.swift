import AppStore
import Fulfillment
import NamesAndTimes

extension FuzzTarget {
    /// The body of verifyReceipt's answer with HTTP status 200. receiptd trusts Apple, but a proxy may damage the
    /// answer.
    static let answer = FuzzTarget(
        name: "answer",
        seeds: { samples.map { Array($0.utf8) } },
        check: { bytes in
            let parsed = VerifyReceiptAnswer.parse(bytes, asked: .production)
            mustHold(parsed == VerifyReceiptAnswer.parse(bytes, asked: .production), "the same answer is read the same")
            guard case .answer(.genuine(let receipt)) = parsed else { return }
            let ids = receipt.purchases.map(\.transactionID)
            mustHold(Set(ids).count == ids.count, "a transaction that is there twice is one")
            mustHold(
                receipt.purchases.allSatisfy { $0.quantity >= 1 && !$0.transactionID.text.isEmpty },
                "every purchase can be granted")
            mustHold(!ids.contains { $0.text.utf8.contains(0) }, "no name holds NUL")
        },
        families: [
            .repeating(
                purchase(1) + ",", after: "{\"status\":0,\"receipt\":{\"bundle_id\":\"b\",\"in_app\":[",
                before: purchase(1) + "]}}"),
            GrowthFamily(name: "different transactions") { size in
                let rows = (0..<size / 90).map(purchase).joined(separator: ",")
                return Array("{\"status\":0,\"receipt\":{\"bundle_id\":\"b\",\"in_app\":[\(rows)]}}".utf8)
            },
            .repeating("\"a\":0,", after: "{\"status\":0,\"receipt\":{", before: "\"bundle_id\":\"b\"}}"),
            GrowthFamily(name: "one transaction of many members") { size in
                let members = String(repeating: "\"a\":0,", count: size / 6)
                return Array(
                    "{\"status\":0,\"receipt\":{\"bundle_id\":\"b\",\"in_app\":[{\(members)\"transaction_id\":\"1\"}]}}"
                        .utf8)
            },
        ],
        words: [
            "\"status\"", "21006", "21007", "21104", "\"is_retryable\"", "\"is-retryable\"", "\"receipt\"",
            "\"in_app\"",
            "\"latest_receipt_info\"", "\"transaction_id\"", "\"product_id\"", "\"quantity\"", "\"purchase_date_ms\"",
            "\"bundle_id\"",
            "\"expires_date\"", "\"cancellation_date\"", " Etc/GMT", "\"adam_id\"", "\"environment\"", "\"bid\"",
        ])

    @Sendable private static func purchase(_ id: Int) -> String {
        "{\"transaction_id\":\"\(id)\",\"product_id\":\"gold\",\"purchase_date_ms\":\"1484283892000\"}"
    }

    private static let samples = [
        #"{"status":0,"environment":"Production","receipt":{"bundle_id":"b","adam_id":1149703708,"receipt_type":"Production","in_app":[{"quantity":"2","product_id":"gold","transaction_id":"350000191094279","original_transaction_id":"350000191094279","purchase_date_ms":"1484283892000","purchase_date":"2017-01-13 05:04:52 Etc/GMT","is_trial_period":"false"}]}}"#,
        #"{"status":"0","receipt":{"bundle_id":"b","in_app":[]},"latest_receipt_info":[{"quantity":1,"product_id":"m","transaction_id":7,"purchase_date_ms":1484283892000,"expires_date_ms":"1484283893000","in_app_ownership_type":"FAMILY_SHARED","app_account_token":"7E3FB204-2AB2-4F36-A6E2-2F9F1B1D0A5C","web_order_line_item_id":"1"}],"latest_receipt":"AA=="}"#,
        #"{"status":21006,"receipt":{"bid":"b","transaction_id":"1","product_id":"m","purchase_date_ms":"1","expires_date":"1484283893000","app_item_id":"5","cancellation_date":"2017-01-13 05:04:52 Etc/GMT"}}"#,
        #"{"status":21104,"environment":"Production","is_retryable":true,"is-retryable":"0"}"#,
        #"{"status":21007}"#, #"{"status":21010,"is_retryable":false}"#,
        "<html><body><b>Http/1.1 Service Unavailable</b></body> </html>", "",
    ]
}
