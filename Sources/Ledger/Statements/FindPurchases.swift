import Fulfillment
import Identifiers
import Postgres

enum FindPurchases {
    private static let statement = LedgerSQL.statement(PackageResources.find_known_purchases_sql)

    /// The receipts, by their place, all of whose purchases are in the ledger. None of them is empty.
    /// - Parameter queries: with the only player whose purchases count, nil for anybody's.
    static func run(
        _ queries: [(receipt: GenuineReceipt?, claimant: PlayerID?)], in session: PostgresSession
    ) throws -> Set<Int> {
        var numbers: [Int32] = []
        var transactions: [StoreTransactionID] = []
        var claimants: [String?] = []
        for (number, query) in queries.enumerated() {
            for purchase in query.receipt?.purchases ?? [] {
                numbers.append(Int32(truncatingIfNeeded: number))
                transactions.append(purchase.transactionID)
                claimants.append(query.claimant?.text)
            }
        }
        guard !numbers.isEmpty else { return [] }
        let rows = try session.execute(
            statement, [.int4Array(numbers), .identifiers(transactions), .textArray(claimants)])
        let number = try rows.column("number")
        return Set((0..<rows.count).compactMap { row in rows.int4(row, number).map { Int($0) } })
    }
}
