import Fulfillment
import NamesAndTimes
import Postgres

/// Keeps the outcomes' partitions: makes those of the days to come, and forgets decided submissions after their time.
/// Grants, holds and refunds are never forgotten. One replica at a time does it for all; nothing waits for it, and it
/// waits for nobody: what was in the way is told, and left for the next time.
public struct OutcomeRetention: Sendable {
    /// Rows that one statement deletes at most.
    static let prunedAtATime = 5_000
    /// Rows that are looked for at a time.
    static let foundAtATime = 50_000
    /// Days dropped in one look at most: a clock that is wrong for a moment must not forget a month.
    static let droppedAtATime = 2
    /// The difference of the worker's clock and PostgreSQL's from which neither is believed. Seconds.
    static let clockTolerance = 86_400.0
    /// The seconds between two turns, of whichever replica. Seconds.
    public static let turnSeconds = 45.0

    /// Rows that were forgotten.
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
        /// Unclaimed purchases of apps that the catalog does not have, beyond as many as are kept.
        public var unknownApps = 0
    }

    public struct Report: Sendable, Equatable {
        /// Another replica took its turn a moment ago: nothing was looked at.
        public var isAnothersTurn = false
        public var made: [String] = []
        /// Rows that left the default partition.
        public var moved = 0
        /// More is left there for the next look.
        public var isMoreToMove = false
        /// Days that cannot be made yet: rows of them lie in the default partition, or much else does.
        public var skipped: [String] = []
        public var dropped: [String] = []
        /// The sessions in the way. A missing partition is made next time.
        public var blockers: [LockHolder]?
        /// PostgreSQL's clock less ours, where they disagree by more than `clockTolerance`: nothing was forgotten.
        public var clockDifference: Double?
        public var pruned = Pruned()
    }

    private static let takingTurn = LedgerSQL.statement(PackageResources.upsert_maintenance_turn_sql)

    private let pool: PostgresPool
    private let days: Int32
    private let turnSeconds: Double

    /// - Parameters:
    ///   - days: `OUTCOME_RETENTION_DAYS`, at least 1.
    ///   - turnSeconds: between two turns of the replicas; 0 where each call is one.
    public init(pool: PostgresPool, days: Int, turnSeconds: Double = OutcomeRetention.turnSeconds) {
        self.pool = pool
        self.days = Int32(clamping: max(days, 1))
        self.turnSeconds = turnSeconds
    }

    /// One look. Throws a `PostgresError`; a lock that was not to be had is none.
    /// - Parameter now: by the worker's clock.
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
        // A day is old only by both clocks.
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
