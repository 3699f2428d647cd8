import Fulfillment
import NamesAndTimes
import Postgres

/// Held transactions in PostgreSQL, for workers. Every function throws a `PostgresError`. `settle` also throws
/// `HoldWrite.Undone` if another writer granted the purchase meanwhile; the worker then tries again.
public struct PostgresHolds: HeldPurchases {
    /// The seconds of a lease, by PostgreSQL's clock, in which a worker tries a hold once. The lease is longer than
    /// Apple may take to answer requests in two environments.
    public static let leaseSeconds = 60.0
    /// A hold is set aside after this many deaths of workers that worked on it alone.
    static let deathsOfPoison: Int32 = 3

    private static let leasing = LedgerSQL.statement(PackageResources.lease_due_holds_sql)
    private static let findingSuspect = LedgerSQL.statement(PackageResources.find_hold_suspect_sql)
    private static let leasingSuspect = LedgerSQL.statement(PackageResources.lease_suspect_hold_sql)
    private static let clearing = LedgerSQL.statement(PackageResources.clear_hold_suspicion_sql)
    private static let accusing = LedgerSQL.statement(PackageResources.accuse_hold_sql)
    private static let resetting = LedgerSQL.statement(PackageResources.reset_future_holds_sql)
    private static let rescheduling = LedgerSQL.statement(PackageResources.reschedule_hold_sql)
    private static let endingLease = LedgerSQL.statement(PackageResources.end_hold_lease_sql)

    private let pool: PostgresPool
    private let leaseSeconds: Double
    private let mending: DueTimes.Mending

    /// - Parameter longestDelay: the longest delay in the settings, in seconds. If a hold's due time is much later, the
    ///   hold becomes due now: a clock that was ahead must have written that time.
    public init(
        pool: PostgresPool, leaseSeconds: Double = PostgresHolds.leaseSeconds, longestDelay: Double = 0
    ) {
        self.pool = pool
        self.leaseSeconds = leaseSeconds
        mending = DueTimes.Mending(Self.resetting, farthestSeconds: DueTimes.farthest(longestDelay: longestDelay))
    }

    public func leaseDue(catalogVersion: Int64, limit: Int) async throws -> [LeasedHold] {
        try await pool.run { [leaseSeconds, mending] session in
            try mending.mendNowAndThen(in: session)
            // The lease is committed before a worker reads the rows. So it counts even if a row kills the worker.
            let rows = try session.execute(
                Self.leasing, [.int8(Int64(limit)), .float8(leaseSeconds), .int8(catalogVersion)])
            return try Self.leased(rows, catalogVersion, in: session)
        }
    }

    public func hasSuspect(catalogVersion: Int64) async throws -> Bool {
        try await pool.run { session in
            let rows = try session.execute(Self.findingSuspect, [.int8(catalogVersion)])
            return rows.bool(0, try rows.column("is_due")) ?? false
        }
    }

    public func leaseSuspect(catalogVersion: Int64) async throws -> SuspectLease<LeasedHold, SetAsidePurchase> {
        try await pool.run { [leaseSeconds] session in
            // This lease, too, is committed before a worker reads the row.
            let rows = try session.execute(
                Self.leasingSuspect, [.float8(leaseSeconds), .int4(Self.deathsOfPoison), .int8(catalogVersion)])
            if let setAside = try SetAsidePurchase(rows, deaths: "deaths_alone") { return .setAside(setAside) }
            return try Self.leased(rows, catalogVersion, in: session).first.map { .isolated($0) } ?? .none
        }
    }

    public func clearSuspicion(of hold: LeasedHold) async throws {
        try await change(hold, by: Self.clearing)
    }

    public func accuse(_ hold: LeasedHold) async throws {
        try await change(hold, by: Self.accusing)
    }

    private func change(
        _ hold: LeasedHold, by statement: PostgresStatement, _ more: [PostgresParameter] = []
    ) async throws {
        let player = PostgresParameter.text(hold.submission.playerID.text)
        try await pool.change(.text(hold.transactionID.text), leasedAs: hold.lease, by: statement, [player] + more)
    }

    /// Returns the readable holds, and sets the unreadable holds aside.
    private static func leased(
        _ rows: PostgresRows, _ catalogVersion: Int64, in session: PostgresSession
    ) throws -> [LeasedHold] {
        let found = try LeasedHolds(rows)
        try UpdateHolds.setAside(found.unreadable, catalogVersion: catalogVersion, in: session)
        return found.leased
    }

    public func keepHeld(_ holds: [(hold: LeasedHold, reason: Reason)], catalogVersion: Int64) async throws {
        let rows = holds.map { UpdateHolds.Row(hold: $0.hold, reason: $0.reason) }
        try await pool.run { try UpdateHolds.run(rows, catalogVersion: catalogVersion, in: $0) }
    }

    public func reschedule(_ hold: LeasedHold, dueAfterSeconds: Double) async throws {
        try await change(hold, by: Self.rescheduling, [.float8(dueAfterSeconds)])
    }

    public func endLease(of hold: LeasedHold) async throws {
        try await change(hold, by: Self.endingLease)
    }

    public func settle(_ decision: HoldDecision) async throws -> OutcomeEvent? {
        let write = HoldWrite(decision: decision, operatorName: nil)
        if case .published(let event) = try await pool.run({ try write.run(in: $0) }) { return event }
        return nil
    }
}
