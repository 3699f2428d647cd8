import Fulfillment
import Postgres

enum BatchWriting {
    /// Writes rows in one SQL transaction. If PostgreSQL refuses their data, each row gets its own SQL transaction.
    /// Throws a `PostgresError`.
    /// - Parameters:
    ///   - refused: the value for a row whose data PostgreSQL refuses.
    ///   - write: runs one SQL transaction, and returns one value for each row.
    static func run<Row, Value>(
        _ rows: [Row], refused: Value, write: ([Row]) async throws -> Durable<[Value]>
    ) async throws -> Durable<[Value]> {
        guard !rows.isEmpty else { return Durable([], in: nil) }
        do { return try await write(rows) } catch {
            let failure = PostgresError(caught: error)
            guard failure.kind == .data else { throw failure }
        }
        if rows.count == 1 { return Durable([refused], in: nil) }
        var values: [Value] = []
        var history: DatabaseHistory?
        for row in rows {
            let one = try await run([row], refused: refused, write: write)
            if let history, let other = one.history, history != other {
                throw PostgresError(
                    sqlState: nil,
                    message: "PostgreSQL was restarted, failed over or restored in the middle of a batch",
                    kind: .retriable)
            }
            history = history ?? one.history
            values += one.value
        }
        return Durable(values, in: history)
    }
}
