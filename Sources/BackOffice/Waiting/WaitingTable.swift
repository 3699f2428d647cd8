import Ledger
import Postgres

/// A row of an operator's list.
package protocol ListedRow: Sendable {
    associatedtype Column: CaseIterable, Hashable, RawRepresentable<String>

    /// Returns nil if a column that must have a value is NULL.
    init?(_ row: PostgresRow<Column>)
}

/// A table of waiting rows that operators count and list. Every function throws a `PostgresError`.
package protocol WaitingTable: Sendable {
    associatedtype Reason: WaitingReason
    associatedtype Row: ListedRow

    /// The counting statement. It takes a filter's parameters, and returns `waiting`, `part` and `digests`.
    static var counting: PostgresStatement { get }
    /// The listing statement. Its parameters are the number of rows, the number of older rows to leave out, the
    /// filter's parameters, and `moreOfListing`.
    static var listing: PostgresStatement { get }
    static var moreOfListing: [PostgresParameter] { get }

    var pool: PostgresPool { get }
}

extension WaitingTable {
    package static var moreOfListing: [PostgresParameter] { [] }

    package func count(_ filter: WaitingFilter<Reason>) async throws -> WaitingCount<Reason> {
        try await pool.run { session in
            let rows = try session.execute(Self.counting, filter.parameters)
            let (all, part) = (try rows.column("waiting"), try rows.column("part"))
            return WaitingCount(
                all: Int(rows.int8(0, all) ?? 0), part: Int(rows.int8(0, part) ?? 0),
                digest: rows.text(0, try rows.column("digests")) ?? "")
        }
    }

    /// Returns rows, the oldest first.
    /// - Parameter skipping: the number of older rows to leave out.
    package func list(
        _ filter: WaitingFilter<Reason>, limit: Int, skipping: Int = 0
    ) async throws -> [Row] {
        try await pool.run { session in
            let page = [PostgresParameter.int8(Int64(limit)), .int8(Int64(skipping))]
            let rows = try session.execute(Self.listing, page + filter.parameters + Self.moreOfListing)
            return try rows.named(Row.Column.self).compactMap(Row.init)
        }
    }
}
