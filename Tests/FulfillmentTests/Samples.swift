import Encodings
import Fulfillment
import NamesAndTimes

/// A sound purchase, submission and app. Each test changes the part that it tests.
enum Sample {
    static let bundle: BundleID = "com.example.game"
    static let product: ProductID = "gold.1"
    static let token = "6e3b2f50-0c1d-4a5e-9f70-112233445566"
    static let otherToken = "00000000-0c1d-4a5e-9f70-112233445566"
    /// The time of the sample record, 2026-11-20T09:30:00.000Z.
    static let recordTime = Timestamp(milliseconds: 1_795_167_000_000)
    static let purchaseTime = recordTime.adding(milliseconds: -60_000)

    static func purchase(
        _ id: StoreTransactionID = "1000", original: StoreTransactionID? = nil, product: ProductID = product,
        after milliseconds: Int64 = 0
    ) -> StorePurchase {
        StorePurchase(
            transactionID: id, originalTransactionID: original ?? id, productID: product,
            purchasedAt: purchaseTime.adding(milliseconds: milliseconds))
    }

    static func submission(
        _ id: Identifier = "submission-1", player: PlayerID = "player-1",
        proof: Submission.Proof = .receipt("MA=="), productID: ProductID? = nil, orderID: String? = nil,
        token: String? = nil, currency: String? = nil
    ) -> Submission {
        Submission(
            submissionID: id, playerID: player, bundleID: bundle, proof: proof, productID: productID,
            orderID: orderID, appAccountToken: token, currency: currency)
    }

    static func app(_ products: [Product] = [Product(id: product, kind: .consumable)]) -> AppPolicy {
        var app = AppPolicy(bundleID: bundle)
        app.products = Dictionary(uniqueKeysWithValues: products.map { ($0.id, $0) })
        return app
    }

    static func receipt(
        _ purchases: [StorePurchase] = [purchase()], environment: StoreEnvironment = .production
    ) -> GenuineReceipt {
        GenuineReceipt(bundleID: bundle, environment: environment, purchases: purchases)
    }

    static func position(offset: Int64 = 7, content: String = "content") -> RecordPosition {
        RecordPosition(
            topic: "receipt-submissions", partition: 3, offset: offset, timestamp: recordTime,
            content: Digest256(hashing: Array(content.utf8)))
    }

    static func decision(
        _ verdict: Verdict, submission: Submission = submission(), proof: String = "proof", offset: Int64 = 7,
        decidedAt: Timestamp = recordTime
    ) -> PendingDecision {
        PendingDecision(
            submission: submission, position: position(offset: offset), proof: Digest256(hashing: Array(proof.utf8)),
            verdict: verdict, environment: .production, evidence: nil, decidedAt: decidedAt, catalogVersion: 1,
            traceparent: nil)
    }

    static func judged(
        _ purchase: StorePurchase, _ kind: ProductKind? = .consumable,
        _ verdict: JudgedPurchase.Verdict = .grant(payload: nil)
    ) -> JudgedPurchase {
        JudgedPurchase(purchase: purchase, kind: kind, verdict: verdict)
    }
}

extension OutcomeEvent {
    var text: String { String(decoding: value, as: UTF8.self) }

    func member(_ name: String) -> JSONValue? {
        (try? JSONParser.parse(value))?.value[name]
    }

    /// The transactions that the event lists, as `id outcome reason`.
    var listed: [String] {
        (member("transactions")?.array ?? []).map { entry in
            ["transaction_id", "outcome", "reason"].map { entry[$0]?.string ?? "-" }.joined(separator: " ")
        }
    }
}

extension AppPolicy {
    /// The terms in the first version of a catalog.
    var terms: AppTerms { AppTerms(self, catalogVersion: 1) }
}
