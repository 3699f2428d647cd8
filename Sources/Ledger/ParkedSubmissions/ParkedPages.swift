import Fulfillment
import Postgres

/// Changes many parked rows page by page, each page in its own SQL transaction. One statement for half a million rows
/// would exceed `statement_timeout`. After a failure, finished pages stay changed; call `run` again for the rest.
package enum ParkedPages {
    /// The most rows of a page.
    package static let size: Int64 = 2_000

    private static let start = PostgresUUID(high: 0, low: 0)

    /// - Parameters:
    ///   - more: the statement's parameters from $3 on.
    ///   - progress: called after each page with the number of rows changed so far.
    package static func run(
        _ statement: PostgresStatement, _ more: [PostgresParameter], in pool: PostgresPool, progress: (Int) -> Void
    ) async throws -> Int {
        var last = start
        var changed = 0
        while true {
            let behind = last
            let (newest, count) = try await pool.run { session in
                let rows = try session.execute(statement, [.uuid(behind), .int8(size)] + more)
                let (last, changed) = (try rows.column("last_id"), try rows.column("changed"))
                return (rows.uuid(0, last), Int(rows.int8(0, changed) ?? 0))
            }
            changed += count
            guard let newest else { return changed }
            last = newest
            progress(changed)
            try Task.checkCancellation()
        }
    }
}
