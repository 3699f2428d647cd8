import Fulfillment
import Postgres

/// Changes many parked rows, a page of ids at a time, each in a transaction of its own: half a million fit into no
/// statement's time. Finished pages stay done; the same again does the rest.
package enum ParkedPages {
    /// Rows that one statement looks at.
    package static let size: Int64 = 2_000

    private static let start = PostgresUUID(high: 0, low: 0)

    /// - Parameters:
    ///   - more: of the statement's parameters, from the third.
    ///   - progress: told after each page how many were changed so far.
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
