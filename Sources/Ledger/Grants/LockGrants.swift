import Fulfillment
import Postgres

/// Locks grants until COMMIT. Their claims must be locked before.
package enum LockGrants {
    private static let statement = LedgerSQL.statement(PackageResources.lock_grants_sql)

    /// - Parameter transactions: sorted, because every writer locks them in that order.
    static func run(
        _ transactions: [StoreTransactionID], in session: PostgresSession
    ) throws -> (rows: PostgresRows, columns: GrantColumns) {
        let rows = try session.execute(statement, [.identifiers(transactions)])
        return (rows, try GrantColumns(rows))
    }

    /// Locks one grant, and returns it; nil if the transaction was never granted.
    package static func one(
        _ transaction: StoreTransactionID, in session: PostgresSession
    ) throws -> GrantedPurchase? {
        let (rows, columns) = try run([transaction], in: session)
        return rows.count == 1 ? GrantedPurchase(rows, 0, columns) : nil
    }
}
