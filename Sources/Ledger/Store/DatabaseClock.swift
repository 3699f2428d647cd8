import Fulfillment
import Postgres

/// PostgreSQL's clock, by which leases, due times and days go.
public enum DatabaseClock {
    private static let statement = LedgerSQL.statement(PackageResources.database_clock_sql)

    /// Throws a `PostgresError`.
    public static func read(from pool: PostgresPool) async throws -> Timestamp? {
        try await pool.run { session in
            try session.execute(statement).timestampMicroseconds(0, 0).map { Timestamp(milliseconds: $0 / 1000) }
        }
    }
}
