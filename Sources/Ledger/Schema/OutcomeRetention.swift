import Fulfillment
import NamesAndTimes
import Postgres

/// Creates the outcomes table's partitions for coming days, and deletes old outcomes and other old rows. Never deletes
/// grants, holds or refunds. One replica at a time does this for all replicas. `run` waits at most 100 ms for a lock
/// that a partition needs. Then its report has the sessions in the way, and the next turn tries again.
public struct OutcomeRetention: Sendable {
    /// The most rows that one statement deletes.
    static let prunedAtATime = 5_000
    /// The most rows that one search finds.
    static let foundAtATime = 50_000
    /// The most days that one turn drops, so that a short error of a clock does not delete a month.
    static let droppedAtATime = 2
    /// If the worker's clock and PostgreSQL's differ by more than this many seconds, nothing is deleted.
    static let clockTolerance = 86_400.0
    /// The seconds between two turns of the whole fleet.
    public static let turnSeconds = 45.0

    /// The number of deleted rows, by table.
    public struct Pruned: Sendable, Equatable {
        public var outcomes = 0
        public var proofs = 0
        public var sightings = 0
        public var replays = 0
        public var notifications = 0
        public var finishes = 0
        public var refundRequests = 0
        public var undelivered = 0
        public var consumptionReports = 0
        /// The deleted unclaimed purchases of apps that the catalog lacks. The newest purchases are kept.
        public var unknownApps = 0
    }

    public struct Report: Sendable, Equatable {
        /// True if another replica took its turn a moment ago, so that this call did nothing.
        public var isAnothersTurn = false
        public var made: [String] = []
        /// The number of rows that left the default partition.
        public var moved = 0
        /// True if the default partition has more rows for the next turn.
        public var isMoreToMove = false
        /// Days without a partition, because the default partition has their rows or is too large.
        public var skipped: [String] = []
        public var dropped: [String] = []
        /// The sessions that prevented a partition. The next turn tries again.
        public var blockers: [LockHolder]?
        /// The seconds by which PostgreSQL's clock is ahead of this process's clock. Nil unless they exceed
        /// `clockTolerance`. If they do, nothing was deleted.
        public var clockDifference: Double?
        public var pruned = Pruned()
    }

    private static let takingTurn = LedgerSQL.statement(PackageResources.upsert_maintenance_turn_sql)

    private let pool: PostgresPool
    private let days: Int32
    private let turnSeconds: Double

    /// - Parameters:
    ///   - days: `OUTCOME_RETENTION_DAYS`, at least 1.
    ///   - turnSeconds: the seconds between two turns of the fleet; 0 makes each call a turn.
    public init(pool: PostgresPool, days: Int, turnSeconds: Double = OutcomeRetention.turnSeconds) {
        self.pool = pool
        self.days = Int32(clamping: max(days, 1))
        self.turnSeconds = turnSeconds
    }

    /// Takes a turn. Throws a `PostgresError`, but not for a lock that it did not get.
    /// - Parameter now: the time by the worker's clock.
    public func run(now: Timestamp) async throws -> Report {
        var report = Report()
        guard try await takeTurn("outcomes", turnSeconds) else {
            report.isAnothersTurn = true
            return report
        }
        let (theirs, existing) = try await pool.run { try OutcomePartitions.list(in: $0) }
        let difference = Double(theirs.milliseconds - now.milliseconds) / 1000
        report.moved = try await DefaultOutcomes.move(in: pool)
        report.isMoreToMove = report.moved >= DefaultOutcomes.movedInALook
        try await make(OutcomePartitions.wanted(at: [now, theirs], kept: days).subtracting(existing), &report)
        guard abs(difference) <= Self.clockTolerance else {
            report.clockDifference = difference
            return report
        }
        // A day is old only if it is old by both clocks.
        let today = min(now.daysSinceEpoch, theirs.daysSinceEpoch)
        let old = existing.filter { $0.sinceEpoch < today - days }.sorted()
        try await drop(old.prefix(Self.droppedAtATime), &report)
        report.pruned.outcomes = try await Pruning.defaults.run(before: today - days, in: pool)
        report.pruned.outcomes += try await Pruning.apart.run(before: today - days, in: pool)
        report.pruned.proofs = try await Pruning.proofs.run(before: today - days, in: pool)
        if try await takeTurn("device_sightings", SightingPruning.turnSeconds) {
            report.pruned.sightings = try await SightingPruning(pool: pool).run(
                before: today - RiskFacts.deviceDays + 1, today: today)
        }
        report.pruned.replays = try await Pruning.replays.run(before: today - Replays.days + 1, in: pool)
        report.pruned.notifications = try await Pruning.notifications.run(
            before: today - StoreNotice.rememberedDays, in: pool)
        _ = try await Pruning.subscriptionReceipts.run(before: today - ToldSubscriptions.receiptDays, in: pool)
        _ = try await Pruning.unownedSubscriptions.run(before: today - ToldSubscriptions.unownedDays, in: pool)
        report.pruned.finishes = try await Pruning.finishes.run(before: today - LeasedFinish.keptDays, in: pool)
        report.pruned.refundRequests = try await Pruning.refundRequests.run(
            before: today - LeasedRefundRequest.keptDays, in: pool)
        report.pruned.undelivered = try await Pruning.undelivered.run(
            before: today - UndeliveredPurchase.keptDays, in: pool)
        report.pruned.consumptionReports = try await Pruning.consumptionReports.run(
            before: today - ConsumptionReport.keptDays, in: pool)
        _ = try await PostgresAnnouncements.forgetEvidence(in: pool)
        report.pruned.unknownApps = try await PostgresAnnouncements.dropUnknownApps(in: pool)
        _ = try await Pruning.trafficMinutes.run(before: today - TrafficStore.minuteDays, in: pool)
        _ = try await Pruning.trafficHours.run(before: today - TrafficStore.hourDays, in: pool)
        _ = try await Pruning.localRefusals.run(before: today - LocalRefusalStore.days, in: pool)
        return report
    }

    private func takeTurn(_ task: String, _ seconds: Double) async throws -> Bool {
        guard turnSeconds > 0 else { return true }
        return try await pool.run { session in
            try session.execute(Self.takingTurn, [.text(task), .float8(seconds)]).count > 0
        }
    }

    private func make(_ days: Set<OutcomeDay>, _ report: inout Report) async throws {
        for day in days.sorted() {
            switch try await pool.run({ try OutcomePartitions.make(day, in: $0) }) {
            case .done: report.made.append(day.table)
            case .nothing: break
            case .staysInDefault: report.skipped.append(day.table)
            case .blocked(let holders):
                report.blockers = holders
                return
            }
        }
    }

    private func drop(_ days: some Sequence<OutcomeDay> & Sendable, _ report: inout Report) async throws {
        for day in days {
            switch try await pool.run({ try OutcomePartitions.drop(day, in: $0) }) {
            case .done: report.dropped.append(day.table)
            case .nothing, .staysInDefault: break
            case .blocked(let holders):
                report.blockers = holders
                return
            }
        }
    }
}
