import Fulfillment
import Postgres

enum RecallPurchases {
    private static let statement = LedgerSQL.statement(PackageResources.recall_purchases_sql)

    /// The receipts, by their place, all of whose purchases stand in the ledger. None of them is empty.
    static func run(_ receipts: [GenuineReceipt?], in session: PostgresSession) throws -> Set<Int> {
        var numbers: [Int32] = []
        var transactions: [StoreTransactionID] = []
        for (number, receipt) in receipts.enumerated() {
            for purchase in receipt?.purchases ?? [] {
                numbers.append(Int32(truncatingIfNeeded: number))
                transactions.append(purchase.transactionID)
            }
        }
        guard !numbers.isEmpty else { return [] }
        let rows = try session.execute(statement, [.int4Array(numbers), .identifiers(transactions)])
        return Set((0..<rows.count).compactMap { row in rows.int4(row, 0).map { Int($0) } })
    }
}
