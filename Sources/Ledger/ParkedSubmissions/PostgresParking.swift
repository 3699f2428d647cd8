import Fulfillment
import NamesAndTimes
import Postgres
import Synchronization

/// The store of submissions that wait in PostgreSQL. The store parks many submissions in one SQL transaction, because
/// an app with wrong credentials parks all its submissions.
///
/// Close the store before its pool: `close` ends the running SQL transactions.
public final class PostgresParking: ParkedSubmissions {
    /// The seconds of a lease, by PostgreSQL's clock, in which a worker makes one try. The lease is longer than the
    /// time limits of a request to Production and of a request to the sandbox together. If the worker dies, another
    /// worker leases the row after this time.
    public static let leaseSeconds = 60.0
    /// A submission is set aside after this many deaths of workers that worked on it alone. insert_parked.sql has
    /// the same number.
    static let deathsOfPoison = 3
    private static let maximumBatch = 200
    private static let maximumBatchBytes = 4 << 20
    /// The seconds over which the worker spreads the retries of an app's submissions when the app's credentials work
    /// again.
    private static let retrySpreadSeconds = 10.0

    private static let rescheduling = LedgerSQL.statement(PackageResources.reschedule_parked_sql)
    private static let endingLease = LedgerSQL.statement(PackageResources.end_parked_lease_sql)
    private static let clearing = LedgerSQL.statement(PackageResources.clear_parked_suspicion_sql)
    private static let accusing = LedgerSQL.statement(PackageResources.accuse_parked_sql)
    private static let finding = LedgerSQL.statement(PackageResources.find_parked_suspect_sql)
    private static let deleting = LedgerSQL.statement(PackageResources.delete_leased_parked_sql)
    private static let weighing = LedgerSQL.statement(PackageResources.sum_parked_weights_sql)
    private static let waking = LedgerSQL.statement(PackageResources.wake_troubled_parked_sql)
    private static let retryingBlocked = LedgerSQL.statement(PackageResources.retry_blocked_parked_page_sql)

    private let pool: PostgresPool
    private let observer: LedgerObserver
    private let leaseSeconds: Double
    private let mending: DueTimes.Mending
    private let floor = PollFloor(.parked)
    private let unproven: Mutex<UnprovenBytes>
    private let queue = GroupQueue<ParkingSubmission, Durable<ParkingOutcome>>()
    private let loops = Mutex<[Task<Void, Never>]>([])

    /// Creates a store that starts at once, and connects when there is work.
    /// - Parameters:
    ///   - longestDelay: the longest delay in the settings, in seconds. If a submission is due more than an hour later
    ///     than this delay, and more than 25 hours from now, it becomes due at once: a clock that was ahead must have
    ///     written its due time.
    ///   - mostUnprovenBytes: the most bytes of unproven proofs that the whole fleet parks.
    public convenience init(
        pool: PostgresPool, leaseSeconds: Double = PostgresParking.leaseSeconds, longestDelay: Double = 0,
        mostUnprovenBytes: Int64 = .max, observer: LedgerObserver = LedgerObserver()
    ) {
        self.init(
            pool: pool, leaseSeconds: leaseSeconds, longestDelay: longestDelay, mostUnprovenBytes: mostUnprovenBytes,
            observer: observer, hasSecondWriter: true)
    }

    init(
        pool: PostgresPool, leaseSeconds: Double = PostgresParking.leaseSeconds, longestDelay: Double = 0,
        mostUnprovenBytes: Int64 = .max, observer: LedgerObserver = LedgerObserver(), hasSecondWriter: Bool
    ) {
        self.pool = pool
        unproven = Mutex(UnprovenBytes(limit: mostUnprovenBytes))
        self.leaseSeconds = leaseSeconds
        mending = DueTimes.Mending(
            LeaseParked.resetting, farthestSeconds: DueTimes.farthest(longestDelay: longestDelay))
        self.observer = observer
        var tasks = [
            Task { await self.write(minimum: 1) },
            Task { await self.queue.watch() },
        ]
        // The second writer takes only entries that wait too long because the first writer's session hangs.
        if hasSecondWriter { tasks.append(Task { await self.write(minimum: .max) }) }
        loops.withLock { $0 = tasks }
    }

    @discardableResult
    public func park(_ submission: ParkingSubmission) async throws(LedgerClosed) -> Durable<ParkingOutcome> {
        try await queue.ask(submission, size: 1024 + submission.submission.proof.length)
    }

    public func leaseDue(limit: Int) async throws -> [LeasedSubmission] {
        try await pool.run { [leaseSeconds, mending, floor] in
            try LeaseParked.due(
                limit: limit, leaseSeconds: leaseSeconds, mending: mending, above: floor, in: $0)
        }
    }

    public func reschedule(
        _ leased: LeasedSubmission, reason: ParkingReason, detail: String?, history: WaitingHistory,
        dueAfterSeconds: Double
    ) async throws {
        try await pool.change(
            .uuid(leased.id.stored), leasedAs: leased.lease, by: Self.rescheduling,
            [
                .text(reason.rawValue), .text(detail), .int4(Int32(clamping: history.failures)),
                .jsonbBytes(history.storedDoubts),
                .timestamptz(unixMicroseconds: history.firstFailureAt?.microseconds),
                .int4(Int32(clamping: history.parkings)), .float8(dueAfterSeconds), .text(history.tries.storedText),
            ])
    }

    public func hasSuspect() async throws -> Bool {
        try await pool.run { session in
            let rows = try session.execute(Self.finding)
            return rows.bool(0, try rows.column("is_due")) ?? false
        }
    }

    public func leaseSuspect() async throws -> SuspectLease<LeasedSubmission, SetAsideSubmission> {
        try await pool.run { [leaseSeconds] in
            try LeaseParked.suspect(deaths: Self.deathsOfPoison, leaseSeconds: leaseSeconds, in: $0)
        }
    }

    public func clearSuspicion(of leased: LeasedSubmission) async throws {
        try await pool.change(.uuid(leased.id.stored), leasedAs: leased.lease, by: Self.clearing)
    }

    public func accuse(_ leased: LeasedSubmission) async throws {
        try await pool.change(.uuid(leased.id.stored), leasedAs: leased.lease, by: Self.accusing)
    }

    public func endLease(of leased: LeasedSubmission) async throws {
        try await pool.change(.uuid(leased.id.stored), leasedAs: leased.lease, by: Self.endingLease)
    }

    public func delete(_ leased: LeasedSubmission) async throws {
        try await pool.change(.uuid(leased.id.stored), leasedAs: leased.lease, by: Self.deleting)
    }

    public func wakeTroubled(
        _ count: Int, of apps: Set<BundleID>?, after place: NameBasedUUID?
    ) async throws -> NameBasedUUID? {
        let behind = place?.stored ?? PostgresUUID(high: .random(in: 0 ... .max), low: 0)
        return try await pool.run { session in
            let rows = try session.execute(
                Self.waking,
                [
                    .uuid(behind), .int8(ParkedPages.size), .int8(Int64(count)),
                    .textArray(apps.map { $0.map(\.text) } ?? []),
                ])
            return rows.uuid(0, try rows.column("last_id"))?.nameBased
        }
    }

    public func retryBlocked(_ bundleID: BundleID, for reasons: [ParkingReason]) async throws {
        _ = try await ParkedPages.run(
            Self.retryingBlocked,
            [.text(bundleID.text), .float8(Self.retrySpreadSeconds), .textArray(reasons.map(\.rawValue))],
            in: pool, progress: { _ in })
    }

    /// Fails submissions that are not parked yet, and waits for the running SQL transaction. May be called twice.
    public func close() async {
        queue.close()
        let tasks = loops.withLock { loops in
            defer { loops = [] }
            return loops
        }
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }
}

extension PostgresParking {
    private typealias Entries = [GroupQueue<ParkingSubmission, Durable<ParkingOutcome>>.Entry]

    private func write(minimum: Int) async {
        while let entries = await queue.next(
            minimum: minimum, maximum: Self.maximumBatch, bytes: Self.maximumBatchBytes)
        {
            await park(entries)
        }
    }

    /// Parks the entries. Retries until all are parked or the queue is closed.
    private func park(_ entries: Entries) async {
        var backoff = Backoff()
        while true {
            let given = entries.map(\.request)
            do {
                let refused = try await pool.run { [self] session in
                    let room = try room(for: given, in: session)
                    return try InsertParked.run(given, room: room, with: UndeliveredRows(given), in: session)
                }
                noteParked(given, but: refused.value)
                observer.succeeded(.parking)
                for entry in entries {
                    let isRefused = refused.value.contains(entry.request.position.parkedID)
                    entry.answer(Durable(isRefused ? .tooManyWaiting : .parked, in: refused.history))
                }
                return
            } catch {
                let error = PostgresError(caught: error)
                observer.trouble(.failed(error))
                if error.kind == .data, entries.count > 1 {
                    let middle = entries.count / 2
                    await park(Array(entries[..<middle]))
                    return await park(Array(entries[middle...]))
                }
                if error.kind == .data, let refused = given.first,
                    let stored = await parkRefused(refused, for: error)
                {
                    entries[0].answer(Durable(.parked, in: stored.history))
                    return
                }
                observer.failed(.parking, error)
            }
            await backoff.wait()
            if queue.isClosed {
                for entry in entries { entry.fail() }
                return
            }
        }
    }

    /// Returns how many more bytes of unproven submissions may be parked; no limit if all of `given` are proven.
    private func room(for given: [ParkingSubmission], in session: PostgresSession) throws -> Int64 {
        guard given.contains(where: { !$0.isProven }) else { return .max }
        let now = WallClock.monotonicSeconds
        if unproven.withLock({ $0.mustCount(now: now) }) {
            let rows = try session.execute(Self.weighing)
            let bytes = rows.int8(0, try rows.column("bytes")) ?? 0
            unproven.withLock { $0.counted(bytes, now: now) }
        }
        return unproven.withLock { $0.room }
    }

    private func noteParked(_ given: [ParkingSubmission], but refused: Set<NameBasedUUID>) {
        let parked = given.filter { !$0.isProven && !refused.contains($0.position.parkedID) }
        let bytes = parked.reduce(0) { $0 + $1.submission.storedBytes.count }
        unproven.withLock { $0.parked(Int64(bytes)) }
    }

    /// Parks a submission for an operator, because PostgreSQL refuses its data. Returns nil if parking fails.
    private func parkRefused(_ refused: ParkingSubmission, for error: PostgresError) async -> Durable<Void>? {
        do {
            let history = try await pool.run {
                try InsertRefused.run(
                    refused.submission, refused.position, proof: refused.proof, traceparent: refused.traceparent,
                    for: error, in: $0)
            }
            observer.parked(error)
            return Durable((), in: history)
        } catch {
            observer.trouble(.failed(PostgresError(caught: error)))
            return nil
        }
    }
}
