import Postgres

/// The numbers of the whole fleet's rows that wait in PostgreSQL, for metrics.
public struct LedgerCounts: Sendable, Equatable {
    /// The highest number to which a metric counts.
    public static let maximum: Int64 = 100_000

    public let parked: Int
    /// The purchases that wait for an operator. Refused purchases do not count.
    public let held: Int
    public let outboxPending: Int
    /// The announced purchases that no player submitted or got.
    public let unclaimed: Int

    public init(parked: Int, held: Int, outboxPending: Int, unclaimed: Int = 0) {
        self.parked = parked
        self.held = held
        self.outboxPending = outboxPending
        self.unclaimed = unclaimed
    }

    private static let statement = LedgerSQL.statement(PackageResources.count_backlog_sql)

    /// Throws a `PostgresError`.
    /// - Parameter floor: the outbox's floor. Pass the same object in each call, so that deleted rows are not read
    ///   again.
    public static func read(from pool: PostgresPool, floor: PollFloor = PollFloor(.outbox)) async throws -> LedgerCounts
    {
        try await pool.run { session in
            let found = try floor.look(in: session)
            let since = PostgresParameter.timestamptz(unixMicroseconds: found.first ?? found.now)
            let rows = try session.execute(statement, [.int8(maximum), since])
            func count(_ name: StaticString) throws -> Int { Int(rows.int8(0, try rows.column(name)) ?? 0) }
            return LedgerCounts(
                parked: try count("parked"), held: try count("held"), outboxPending: try count("unpublished"),
                unclaimed: try count("unclaimed"))
        }
    }
}
