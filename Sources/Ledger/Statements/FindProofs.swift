import Fulfillment
import Postgres

enum FindProofs {
    private static let statement = LedgerSQL.statement(PackageResources.find_proofs_sql)

    /// What Apple said before, by the index of the proof, where all of it is in the ledger.
    static func run(_ proofs: [Digest256], in session: PostgresSession) throws -> [Int: GenuineReceipt] {
        guard !proofs.isEmpty else { return [:] }
        let rows = try session.execute(statement, [.byteaArray(proofs.map(\.bytes))])
        let (numbers, remembered) = (try rows.column("number"), try rows.column("evidence"))
        var receipts: [Int: GenuineReceipt] = [:]
        for row in 0..<rows.count {
            guard let number = rows.int8(row, numbers), let evidence = rows.bytes(row, remembered) else { continue }
            receipts[Int(number) - 1] = GenuineReceipt(stored: evidence)
        }
        return receipts
    }
}
