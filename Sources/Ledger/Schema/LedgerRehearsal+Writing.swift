import Fulfillment
import NamesAndTimes
import Postgres

/// Writes rows with the worker's own code, under ids that belong to nobody. Only a real write shows that somebody
/// else's trigger, rule or constraint refuses a row.
extension LedgerRehearsal {
    private static let topic = "receiptd check"
    /// An id of twenty digits. Apple's ids have fewer.
    private static let granted: StoreTransactionID = "99999999999999999901"
    private static let held: StoreTransactionID = "99999999999999999902"
    private static let bundle: BundleID = "receiptd.check"
    private static let player: PlayerID = "receiptd check"

    /// A write that is rolled back.
    struct Writing {
        let work: String
        let run: (PostgresSession) throws -> Void
    }

    static func writings(at now: Timestamp) -> [Writing] {
        [
            Writing(work: "grant and hold") { session in
                let decisions = [
                    decision(granted, .grant(payload: nil), offset: 0, at: now),
                    decision(held, .hold(.unknownProduct), offset: 1, at: now),
                ]
                _ = try DecisionBatchWrite(
                    batch: DecisionBatch(decisions), lookUp: .everything, acknowledged: [], writer: 0
                ).write(in: session)
            },
            Writing(work: "revoke") { session in
                let notice = RefundNotice(
                    id: "receiptd check", change: .revoked(.refund, at: now), signedAt: now,
                    transaction: NotifiedTransaction(
                        purchase: purchase(granted, at: now), kind: .consumable, bundleID: bundle,
                        environment: .production))
                let refund = TakenRefund(notice, at: now, topic: topic, partition: 0, traceparent: nil)
                _ = try RefundWrite(
                    refunds: [refund], claims: [granted: LedgerView.Claim(player: player)],
                    catalog: Catalog(version: 0, apps: [])
                ).run(in: session)
            },
            Writing(work: "park") { session in
                let submission = submission(2)
                let parking = ParkingSubmission(
                    submission: submission, position: position(2, at: now),
                    proof: Digest256(hashing: Array(topic.utf8)),
                    isProven: true, traceparent: nil, reason: .appleTrouble, history: WaitingHistory(),
                    dueAfterSeconds: 0)
                _ = try InsertParked.run([parking], room: .max, in: session)
            },
        ]
    }

    private static func decision(
        _ id: StoreTransactionID, _ verdict: JudgedPurchase.Verdict, offset: Int64, at now: Timestamp
    ) -> PendingDecision {
        let judged = JudgedPurchase(purchase: purchase(id, at: now), kind: .consumable, verdict: verdict)
        return PendingDecision(
            submission: submission(offset), position: position(offset, at: now),
            proof: Digest256(hashing: Array("\(topic) \(offset)".utf8)), verdict: .each([judged]),
            environment: .production,
            evidence: nil, decidedAt: now, catalogVersion: 0, traceparent: nil)
    }

    private static func purchase(_ id: StoreTransactionID, at now: Timestamp) -> StorePurchase {
        StorePurchase(transactionID: id, originalTransactionID: id, productID: "receiptd.check", purchasedAt: now)
    }

    private static func submission(_ offset: Int64) -> Submission {
        Submission(
            submissionID: Identifier("receiptd check \(offset)"), playerID: player, bundleID: bundle,
            proof: .transactionID(granted))
    }

    private static func position(_ offset: Int64, at now: Timestamp) -> RecordPosition {
        RecordPosition(
            topic: topic, partition: 0, offset: offset, timestamp: now, content: Digest256(hashing: Array(topic.utf8)))
    }
}
