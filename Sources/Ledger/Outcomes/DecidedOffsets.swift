import Postgres

enum DecidedOffsets {
    private static let statement = LedgerSQL.statement(PackageResources.find_partition_progress_sql)

    static func run(topic: String, partitions: [Int32], in session: PostgresSession) throws -> [Int32: Int64] {
        let rows = try session.execute(statement, [.text(topic), .int4Array(partitions)])
        let (number, decided) = (try rows.column("partition"), try rows.column("decided_offset"))
        var offsets: [Int32: Int64] = [:]
        for row in 0..<rows.count {
            guard let partition = rows.int4(row, number), let offset = rows.int8(row, decided) else { continue }
            offsets[Int32(truncatingIfNeeded: partition)] = offset
        }
        return offsets
    }
}
