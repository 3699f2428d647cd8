import Fulfillment
import Postgres

/// Keeps the outcomes' partitions: makes those of the days to come, and forgets decided submissions after their time.
/// Grants, holds and refunds are never forgotten. Safe on several replicas at once; call it at the start, before the
/// first record is taken, and every hour.
public struct OutcomeRetention: Sendable {
    /// Rows that one statement deletes at most.
    static let prunedAtATime: Int64 = 10_000

    public struct Report: Sendable, Equatable {
        public var made: [String] = []
        /// Days whose rows lay in the default partition already: they stay there until they are pruned.
        public var skipped: [String] = []
        public var dropped: [String] = []
        public var prunedOutcomes = 0
        public var prunedProofs = 0
        public var prunedSightings = 0
        public var prunedReplays = 0
    }

    private static let pruningDefault = LedgerSQL.statement(PackageResources.prune_default_sql)
    private static let pruningProofs = LedgerSQL.statement(PackageResources.prune_proofs_sql)

    private static let pruningReplays = LedgerSQL.statement(PackageResources.prune_replays_sql)

    private static let pruningSightings = LedgerSQL.statement(PackageResources.prune_sightings_sql)

    private let pool: PostgresPool
    private let days: Int32

    /// - Parameter days: `OUTCOME_RETENTION_DAYS`, at least 1.
    public init(pool: PostgresPool, days: Int) {
        self.pool = pool
        self.days = Int32(clamping: max(days, 1))
    }

    /// Throws a `PostgresError`, also where a lock was not to be had in 2 s: what is left is done next time.
    public func run() async throws -> Report {
        let days = days
        return try await pool.run { session in
            var report = Report()
            (report.made, report.skipped) = try OutcomePartitions.makeAhead(in: session)
            report.dropped = try OutcomePartitions.dropOld(retentionDays: days, in: session)
            report.prunedOutcomes = try Self.prune(Self.pruningDefault, days, in: session)
            report.prunedProofs = try Self.prune(Self.pruningProofs, days, in: session)
            report.prunedSightings = try Self.prune(Self.pruningSightings, RiskFacts.deviceDays, in: session)
            report.prunedReplays = try Self.prune(Self.pruningReplays, Replays.days, in: session)
            return report
        }
    }

    private static func prune(
        _ statement: PostgresStatement, _ days: Int32, in session: PostgresSession
    ) throws -> Int {
        var pruned = 0
        while true {
            let count = try session.execute(statement, [.int4(days), .int8(prunedAtATime)]).affectedRows
            pruned += count
            if count < prunedAtATime { return pruned }
        }
    }
}
