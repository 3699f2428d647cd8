import Postgres

/// The workers' counts for the console's charts. Every function throws a `PostgresError`.
public struct TrafficStore: Sendable {
    /// The days for which counts by minute are kept.
    static let minuteDays: Int32 = 2
    /// The days for which counts by hour are kept.
    static let hourDays: Int32 = 90
    /// The most rows of one report. Further names are not counted.
    static let maximumNames = 400

    private static let adding = LedgerSQL.statement(PackageResources.upsert_traffic_sql)

    private let pool: PostgresPool

    public init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Adds counts to the minute and the hour that have just passed. Pass each kind and name once.
    public func add(_ counts: [TrafficCount]) async throws {
        let told = counts.filter { $0.count > 0 }.prefix(Self.maximumNames)
        guard !told.isEmpty else { return }
        _ = try await pool.run { session in
            try session.execute(
                Self.adding,
                [
                    .textArray(told.map(\.kind.rawValue)), .textArray(told.map(\.name)),
                    .int8Array(told.map { Int64($0.count) }),
                ]
            ).affectedRows
        }
    }
}
