import AppStoreSimulation
import Encodings
import Foundation

/// The cost of reading the documents of the hot path: a submission with its receipt, and an answer of verifyReceipt.
struct JSONCost {
    let rounds: Int
    private static let times = 500

    private struct Submission: Decodable {
        enum CodingKeys: String, CodingKey {
            case submissionID = "submission_id"
            case playerID = "player_id"
            case bundleID = "bundle_id"
            case receiptData = "receipt_data"
            case productID = "product_id"
        }

        let submissionID: String
        let playerID: String
        let bundleID: String
        let receiptData: String
        let productID: String
    }

    private struct Answer: Decodable {
        struct Receipt: Decodable {
            enum CodingKeys: String, CodingKey {
                case bundleID = "bundle_id"
                case inApp = "in_app"
            }

            let bundleID: String
            let inApp: [Purchase]
        }

        struct Purchase: Decodable {
            enum CodingKeys: String, CodingKey {
                case transactionID = "transaction_id"
                case productID = "product_id"
                case quantity
                case purchaseDateMilliseconds = "purchase_date_ms"
            }

            let transactionID: String
            let productID: String
            let quantity: String
            let purchaseDateMilliseconds: String
        }

        let status: Int
        let receipt: Receipt
    }

    func measure() throws -> [Comparison] {
        let submission = Array(Self.submission.utf8)
        let answer = Array(Self.answer.utf8)
        let names = JSONNames([
            "status", "receipt", "bundle_id", "in_app", "transaction_id", "product_id", "quantity", "purchase_date_ms",
        ])
        return [
            try Comparison.alternate(
                "JSON, submission    ", library: "JSONDecoder", rounds: rounds, times: Self.times,
                ours: {
                    let value = try JSONParser.parse(submission).value
                    guard value["player_id"]?.string != nil, value["receipt_data"]?.string != nil else {
                        throw WrongResult()
                    }
                },
                theirs: { _ = try JSONDecoder().decode(Submission.self, from: Data(submission)) }),
            try Comparison.alternate(
                "JSON, Apple's answer", library: "JSONDecoder", rounds: rounds, times: Self.times,
                ours: {
                    let value = try JSONParser.parse(answer, keeping: names).value
                    for purchase in value["receipt"]?["in_app"]?.array ?? [] {
                        for name in ["transaction_id", "product_id", "quantity", "purchase_date_ms"]
                        where purchase[name]?.string == nil { throw WrongResult() }
                    }
                },
                theirs: { _ = try JSONDecoder().decode(Answer.self, from: Data(answer)) }),
        ]
    }

    static let receipt = SimulatedReceipt(
        bundleID: "com.example.game",
        purchases: (0..<5).map { SimulatedPurchase(transactionID: "90000\($0)", productID: "com.example.game.gold") }
    ).base64Encoded()

    private static let submission = """
        {"submission_id":"11111111-2222-4333-8444-555555555555","player_id":"player-1","bundle_id":"com.example.game",\
        "receipt_data":"\(receipt)","product_id":"com.example.game.gold"}
        """

    private static let answer: String = {
        let purchases = (0..<20).map { number in
            """
            {"quantity":"1","product_id":"com.example.game.gold","transaction_id":"90000\(number)",\
            "original_transaction_id":"90000\(number)","purchase_date":"2026-11-20 09:30:00 Etc/GMT",\
            "purchase_date_ms":"1795167000000","purchase_date_pst":"2026-11-20 01:30:00 America/Los_Angeles",\
            "original_purchase_date":"2026-11-20 09:30:00 Etc/GMT","original_purchase_date_ms":"1795167000000",\
            "original_purchase_date_pst":"2026-11-20 01:30:00 America/Los_Angeles","is_trial_period":"false",\
            "in_app_ownership_type":"PURCHASED"}
            """
        }
        return """
            {"receipt":{"receipt_type":"Production","adam_id":1,"bundle_id":"com.example.game",\
            "in_app":[\(purchases.joined(separator: ","))]},"environment":"Production","status":0}
            """
    }()
}
