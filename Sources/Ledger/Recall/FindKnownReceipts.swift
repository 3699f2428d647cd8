import Fulfillment
import NamesAndTimes
import Postgres

/// Finds receipts whose purchases are all in the ledger, in one round trip. receiptd knows a receipt's purchases from
/// Apple's earlier answer to its proof, or because it read them from a proven proof.
enum FindKnownReceipts {
    private static let statement = LedgerSQL.statement(PackageResources.find_known_receipts_sql)

    /// - Returns: the evidence of each known receipt, by the query's index. An unknown receipt has no entry. Apple's
    ///   answer takes precedence, because it has more data.
    static func run(_ queries: [RecallQuery], in session: PostgresSession) throws -> [Int: GenuineReceipt] {
        guard !queries.isEmpty else { return [:] }
        var numbers: [Int64] = []
        var transactions: [StoreTransactionID] = []
        var claimants: [String?] = []
        for (index, query) in queries.enumerated() {
            for purchase in query.evidence?.purchases ?? [] {
                numbers.append(Int64(index) + 1)
                transactions.append(purchase.transactionID)
                claimants.append(query.claimant?.text)
            }
        }
        let rows = try session.execute(
            statement,
            [
                .byteaArray(queries.map(\.proof.bytes)), .int8Array(numbers), .identifiers(transactions),
                .textArray(claimants),
            ])
        let (number, remembered) = (try rows.column("number"), try rows.column("evidence"))
        var told: [Int: GenuineReceipt] = [:]
        var read: [Int: GenuineReceipt] = [:]
        for row in 0..<rows.count {
            guard let place = rows.int8(row, number).map({ Int($0) - 1 }) else { continue }
            if let evidence = rows.bytes(row, remembered) {
                told[place] = GenuineReceipt(stored: evidence)
            } else {
                read[place] = queries[place].evidence
            }
        }
        return told.merging(read) { told, _ in told }
    }
}
