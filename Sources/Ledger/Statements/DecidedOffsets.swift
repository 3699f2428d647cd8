import Postgres

enum DecidedOffsets {
    private static let statement = LedgerSQL.statement(PackageResources.decided_offsets_sql)

    static func run(topic: String, partitions: [Int32], in session: PostgresSession) throws -> [Int32: Int64] {
        let rows = try session.execute(statement, [.text(topic), .int4Array(partitions)])
        var offsets: [Int32: Int64] = [:]
        for row in 0..<rows.count {
            guard let partition = rows.int4(row, 0), let offset = rows.int8(row, 1) else { continue }
            offsets[Int32(truncatingIfNeeded: partition)] = offset
        }
        return offsets
    }
}
