import Fulfillment
import NamesAndTimes
import Postgres

struct HoldRow {
    let hold: Settlement.NewHold
    let decision: PendingDecision
}

enum InsertHolds {
    private static let statement = LedgerSQL.statement(PackageResources.insert_holds_sql)
    private static let submissions = LedgerSQL.statement(PackageResources.insert_held_submissions_sql)

    /// Inserts holds, and returns the number of new holds. `rows` must be sorted by transaction and player.
    static func run(_ rows: [HoldRow], in session: PostgresSession) throws -> Int {
        guard !rows.isEmpty else { return 0 }
        try insertSubmissions(of: rows, in: session)
        return try session.execute(
            statement,
            [
                .identifiers(rows.lazy.map(\.hold.purchase.transactionID)),
                .identifiers(rows.lazy.map(\.hold.purchase.originalTransactionID)),
                .identifiers(rows.lazy.map(\.decision.submission.playerID)),
                .identifiers(rows.lazy.map(\.decision.submission.bundleID)),
                .identifiers(rows.lazy.map(\.hold.purchase.productID)),
                .textArray(rows.map(\.hold.reason.rawValue)),
                .uuids(rows.lazy.map(\.decision.identity)),
                .identifiers(rows.lazy.map(\.decision.submission.submissionID)),
                .textArray(rows.map(\.decision.environment.rawValue)),
                .int4Array(rows.map(\.hold.purchase.quantity)),
                .timestamps(rows.map(\.hold.purchase.purchasedAt)),
                .timestamps(rows.map(\.hold.purchase.expiresAt)),
                .int8Array(rows.map(\.decision.catalogVersion)),
                .timestamps(rows.map(\.decision.decidedAt)),
                .textArray(rows.map(\.decision.position.topic)),
                .int4Array(rows.map(\.decision.position.partition)),
                .int8Array(rows.map(\.decision.position.offset)),
                .timestamps(rows.map(\.decision.position.timestamp)),
                .textArray(rows.map(\.decision.traceparent)),
                .byteaArray(rows.map { $0.hold.evidence(of: $0.decision).storedBytes }),
                // The signals are joined by commas, which no signal's name contains. `unnest` does not accept an array
                // of arrays with different lengths.
                .textArray(rows.map { $0.hold.risk.map(\.rawValue).joined(separator: ",") }),
                .textArray(rows.map(\.decision.source.rawValue)),
                .boolArray(rows.map { $0.decision.announced?.isRenewal ?? false }),
                .textArray(rows.map { $0.decision.period(of: $0.hold)?.text }),
                .boolArray(rows.map { $0.decision.isBound($0.hold.purchase) }),
            ]
        ).count
    }

    private static func insertSubmissions(of rows: [HoldRow], in session: PostgresSession) throws {
        let bySubmission = Dictionary(rows.map { ($0.decision.identity, $0.decision.submission) }) { first, _ in first }
        let sorted = bySubmission.sorted { $0.key < $1.key }
        try session.execute(
            submissions, [.uuids(sorted.map(\.key)), .byteaArray(sorted.map { $0.value.storedBytes })])
    }
}

extension Settlement.NewHold {
    /// Returns Apple's facts about this transaction only.
    fileprivate func evidence(of decision: PendingDecision) -> GenuineReceipt {
        GenuineReceipt(
            bundleID: decision.submission.bundleID, environment: decision.environment, purchases: [purchase])
    }
}
