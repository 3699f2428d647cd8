import Fulfillment
import NamesAndTimes
import Postgres

/// The deliveries to report to Apple (finishes) in PostgreSQL, for workers. Every function throws a `PostgresError`.
public struct PostgresFinishes: OwedFinishes {
    /// The shortest lease in seconds. Each lease of a row is twice as long as the one before, so that a row that kills
    /// its worker comes back later each time.
    public static let shortestLeaseSeconds = 60.0
    static let longestLeaseSeconds = 6 * 3600.0
    /// The most due rows that one statement reads. It does not lease the rows whose events are not acknowledged yet.
    static let lookedAtATime: Int64 = 200

    private static let leasing = LedgerSQL.statement(PackageResources.lease_due_finishes_sql)
    private static let resetting = LedgerSQL.statement(PackageResources.reset_future_finishes_sql)
    private static let ending = LedgerSQL.statement(PackageResources.end_finish_sql)
    private static let puttingOff = LedgerSQL.statement(PackageResources.put_off_finish_sql)

    private let pool: PostgresPool
    private let shortestLeaseSeconds: Double
    private let floor = PollFloor(.finishes)
    private let mending = DueTimes.Mending(Self.resetting)

    public init(pool: PostgresPool, shortestLeaseSeconds: Double = PostgresFinishes.shortestLeaseSeconds) {
        self.pool = pool
        self.shortestLeaseSeconds = shortestLeaseSeconds
    }

    public func leaseDueFinishes(limit: Int) async throws -> [LeasedFinish] {
        try await pool.run { [shortestLeaseSeconds, floor, mending] session in
            try mending.mendNowAndThen(in: session)
            guard try floor.mayBeDue(in: session) else { return [] }
            return try session.transaction { session in
                let rows = try session.execute(
                    Self.leasing,
                    [
                        .int8(Int64(limit)), .float8(shortestLeaseSeconds), .float8(Self.longestLeaseSeconds),
                        .int8(Self.lookedAtATime), .int4(Int32(LeasedFinish.tellingDays)),
                    ])
                return try Self.finishes(rows)
            }
        }
    }

    private static func finishes(_ rows: PostgresRows) throws -> [LeasedFinish] {
        let (transaction, bundle) = (try rows.column("transaction_id"), try rows.column("bundle_id"))
        let (environment, lease) = (try rows.column("environment"), try rows.column("lease"))
        let (isPast, tries) = (try rows.column("is_past_its_time"), try rows.column("tries"))
        return (0..<rows.count).compactMap { row in
            guard let id = rows.text(row, transaction), let app = rows.text(row, bundle),
                let place = rows.text(row, environment).flatMap(StoreEnvironment.init(rawValue:)),
                let lease = rows.timestampMicroseconds(row, lease)
            else { return nil }
            return LeasedFinish(
                transactionID: Identifier(id), bundleID: Identifier(app), environment: place,
                isPastItsTime: rows.bool(row, isPast) ?? false, tries: rows.int4(row, tries).map { Int($0) } ?? 1,
                lease: lease)
        }
    }

    public func end(_ finish: LeasedFinish, as result: FinishResult) async throws {
        try await pool.change(
            .text(finish.transactionID.text), leasedAs: finish.lease, by: Self.ending, [.text(result.rawValue)])
    }

    public func putOff(_ finish: LeasedFinish, seconds: Double) async throws {
        try await putOff(finish, seconds: seconds, uncounted: 0)
    }

    public func release(_ finish: LeasedFinish) async throws { try await putOff(finish, seconds: 0, uncounted: 1) }

    private func putOff(_ finish: LeasedFinish, seconds: Double, uncounted: Int32) async throws {
        try await pool.change(
            .text(finish.transactionID.text), leasedAs: finish.lease, by: Self.puttingOff,
            [.float8(seconds), .int4(uncounted)])
    }
}
