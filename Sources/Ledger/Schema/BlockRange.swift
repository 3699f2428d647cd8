import Postgres

/// A range of a table's blocks, as tuple ids.
package struct BlockRange: Sendable {
    private static let measuring = LedgerSQL.statement(PackageResources.find_table_blocks_sql)

    package let first: PostgresParameter
    /// The first tuple id after the range.
    package let end: PostgresParameter

    private init(_ blocks: Range<Int64>) {
        first = .text("(\(blocks.lowerBound),0)")
        end = .text("(\(blocks.upperBound),0)")
    }

    /// Returns the present number of a table's blocks; 0 if the table does not exist.
    package static func count(of table: String, in session: PostgresSession) throws -> Int64 {
        let rows = try session.execute(measuring, [.text(table)])
        return rows.int8(0, try rows.column("blocks")) ?? 0
    }

    /// Makes ranges one at a time, because a large table has millions of blocks.
    package static func each(of blocks: Range<Int64>, _ atATime: Int64) -> some Sequence<BlockRange> & Sendable {
        stride(from: blocks.lowerBound, to: blocks.upperBound, by: Int64.Stride(atATime)).lazy
            .map { BlockRange($0..<min($0 + atATime, blocks.upperBound)) }
    }
}
