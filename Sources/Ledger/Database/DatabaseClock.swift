import Fulfillment
import NamesAndTimes
import Postgres

/// PostgreSQL's clock, which decides about leases, due times and days.
public enum DatabaseClock {
    private static let statement = PostgresStatement("SELECT clock_timestamp() AS now")

    /// Throws a `PostgresError`.
    public static func read(from pool: PostgresPool) async throws -> Timestamp? {
        try await pool.run { session in
            let rows = try session.execute(statement)
            return rows.timestamp(0, try rows.column("now"))
        }
    }
}
