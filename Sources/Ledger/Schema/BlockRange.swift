import Postgres

/// Some blocks of a table, as tuple ids.
struct BlockRange: Sendable {
    private static let measuring = LedgerSQL.statement(PackageResources.find_table_blocks_sql)

    let first: PostgresParameter
    /// The first tuple id behind them.
    let end: PostgresParameter

    private init(_ blocks: Range<Int64>) {
        first = .text("(\(blocks.lowerBound),0)")
        end = .text("(\(blocks.upperBound),0)")
    }

    /// A table's blocks now, some at a time; none where it is gone.
    static func all(of table: String, _ atATime: Int64, in session: PostgresSession) throws -> [BlockRange] {
        let rows = try session.execute(measuring, [.text(table)])
        let blocks = rows.int8(0, try rows.column("blocks")) ?? 0
        return stride(from: 0, to: blocks, by: Int64.Stride(atATime)).map { BlockRange($0..<($0 + atATime)) }
    }
}
