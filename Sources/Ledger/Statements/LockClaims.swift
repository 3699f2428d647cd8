import Fulfillment
import Postgres

enum LockClaims {
    private static let statement = LedgerSQL.statement(PackageResources.lock_claims_sql)

    /// The claims there are, locked until COMMIT. `originals` are sorted: that is the order of locking.
    static func run(
        _ originals: [StoreTransactionID], in session: PostgresSession
    ) throws -> [StoreTransactionID: LedgerView.Claim] {
        guard !originals.isEmpty else { return [:] }
        let rows = try session.execute(statement, [.identifiers(originals)])
        var claims: [StoreTransactionID: LedgerView.Claim] = [:]
        for row in 0..<rows.count {
            guard let original = rows.text(row, 0) else { continue }
            claims[Identifier(original)] = LedgerView.Claim(
                player: rows.text(row, 1).map { Identifier($0) },
                grantedTransaction: rows.text(row, 2).map { Identifier($0) })
        }
        return claims
    }
}
