import Fulfillment
import Postgres

struct GrantRow {
    let grant: Settlement.NewGrant
    let decision: PendingDecision
}

enum InsertGrants {
    private static let statement = LedgerSQL.statement(PackageResources.insert_grants_sql)

    /// How many were granted now. `rows` are sorted by transaction.
    static func run(_ rows: [GrantRow], in session: PostgresSession) throws -> Int {
        guard !rows.isEmpty else { return 0 }
        return try session.execute(
            statement,
            [
                .identifiers(rows.lazy.map(\.grant.purchase.transactionID)),
                .identifiers(rows.lazy.map(\.grant.purchase.originalTransactionID)),
                .identifiers(rows.lazy.map(\.decision.submission.playerID)),
                .identifiers(rows.lazy.map(\.decision.submission.bundleID)),
                .identifiers(rows.lazy.map(\.grant.purchase.productID)),
                .int4Array(rows.map(\.grant.purchase.quantity)),
                .textArray(rows.map { $0.decision.environment.rawValue }),
                .timestamps(rows.map(\.grant.purchase.purchasedAt)),
                .identifiers(rows.lazy.map(\.decision.submission.submissionID)),
                .timestamps(rows.map(\.decision.decidedAt)),
                .uuids(rows.lazy.map(\.decision.identity)),
                .textArray(rows.map { $0.grant.kind?.rawValue }),
                .timestamps(rows.map(\.grant.purchase.expiresAt)),
                .byteaArray(rows.map(\.grant.event.value)),
                .int8Array(rows.map(\.decision.catalogVersion)),
                .boolArray(rows.map { $0.decision.isBound($0.grant.purchase) }),
                .textArray(rows.map { $0.grant.purchase.appTransactionID?.text }),
            ]
        ).count
    }
}
