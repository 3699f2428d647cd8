import Fulfillment
import Identifiers
import Postgres

/// A claim as it is about to be in the table.
struct ClaimRow: Sendable, Equatable {
    let original: StoreTransactionID
    var player: PlayerID?
    let bundleID: BundleID
    var grantedTransaction: StoreTransactionID?
}

enum InsertClaims {
    private static let statement = LedgerSQL.statement(PackageResources.insert_claims_sql)

    /// Those that were free. `claims` are sorted by original transaction.
    static func run(_ claims: [ClaimRow], in session: PostgresSession) throws -> Set<StoreTransactionID> {
        guard !claims.isEmpty else { return [] }
        let rows = try session.execute(
            statement,
            [
                .identifiers(claims.lazy.map(\.original)), .textArray(claims.map { $0.player?.text }),
                .identifiers(claims.lazy.map(\.bundleID)), .textArray(claims.map { $0.grantedTransaction?.text }),
            ])
        let original = try rows.column("original_transaction_id")
        if rows.count == claims.count { return Set(claims.lazy.map(\.original)) }
        return Set((0..<rows.count).compactMap { rows.text($0, original).map { Identifier($0) } })
    }
}
