import Postgres

/// The incidents that an operator must see, of all workers, even of workers that have ended. Every function throws a
/// `PostgresError`.
public struct IncidentStore: Sendable {
    /// The days for which an incident is kept after it last happened.
    static let days: Int32 = 90

    private static let adding = LedgerSQL.statement(PackageResources.upsert_incidents_sql)
    private static let forgetting = LedgerSQL.statement(PackageResources.delete_old_incidents_sql)
    private static let counting = LedgerSQL.statement(PackageResources.count_incidents_sql)

    /// The number of incidents of one kind and subject.
    public struct Incident: Sendable, Equatable {
        public let kind: String
        public let subject: String
        public let count: Int

        public init(kind: String, subject: String, count: Int) {
            self.kind = kind
            self.subject = subject
            self.count = count
        }
    }

    public struct Count: Sendable, Equatable {
        public let kind: String
        /// Unix seconds, by the database's clock.
        public let lastSeconds: Double
        public let count: Int
    }

    private let pool: PostgresPool

    public init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Adds incidents that happened just now. Pass each kind and subject once.
    public func add(_ incidents: [Incident]) async throws {
        guard !incidents.isEmpty else { return }
        let sorted = incidents.sorted { ($0.kind, $0.subject) < ($1.kind, $1.subject) }
        try await pool.run { session in
            _ = try session.execute(
                Self.adding,
                [
                    .textArray(sorted.map(\.kind)), .textArray(sorted.map(\.subject)),
                    .int8Array(sorted.map { Int64($0.count) }),
                ])
            _ = try session.execute(Self.forgetting, [.int4(Self.days)])
        }
    }

    /// Returns the counts by kind.
    public func counts() async throws -> [Count] {
        try await pool.run { session in
            let rows = try session.execute(Self.counting)
            let (kind, last, count) = (
                try rows.column("kind"), try rows.column("last_seconds"), try rows.column("count")
            )
            return (0..<rows.count).compactMap { row in
                guard let kind = rows.text(row, kind), let last = rows.float8(row, last) else { return nil }
                return Count(kind: kind, lastSeconds: last, count: Int(clamping: rows.int8(row, count) ?? 0))
            }
        }
    }
}
