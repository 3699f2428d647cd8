import Fulfillment
import NamesAndTimes
import Postgres

package enum LockClaims {
    private static let statement = LedgerSQL.statement(PackageResources.lock_claims_sql)

    /// Locks the existing claims until COMMIT, and returns them. `originals` must be sorted, because every writer locks
    /// claims in that order.
    package static func run(
        _ originals: [StoreTransactionID], in session: PostgresSession
    ) throws -> [StoreTransactionID: LedgerView.Claim] {
        guard !originals.isEmpty else { return [:] }
        let rows = try session.execute(statement, [.identifiers(originals)])
        let (id, player) = (try rows.column("original_transaction_id"), try rows.column("player_id"))
        let granted = try rows.column("granted_transaction_id")
        var claims: [StoreTransactionID: LedgerView.Claim] = [:]
        for row in 0..<rows.count {
            guard let original = rows.text(row, id) else { continue }
            claims[Identifier(original)] = LedgerView.Claim(
                player: rows.text(row, player).map { Identifier($0) },
                grantedTransaction: rows.text(row, granted).map { Identifier($0) })
        }
        return claims
    }
}
