import Fulfillment
import NamesAndTimes
import Postgres

/// Finds the claims of granted or held transactions: those of their original transactions and of their periods.
package enum FindOriginals {
    private static let statement = LedgerSQL.statement(PackageResources.find_originals_sql)

    package static func run(
        _ transactions: [StoreTransactionID], in session: PostgresSession
    ) throws -> Set<StoreTransactionID> {
        let rows = try session.execute(statement, [.identifiers(transactions)])
        let column = try rows.column("original_transaction_id")
        return Set((0..<rows.count).compactMap { rows.text($0, column).map { StoreTransactionID($0) } })
    }
}
