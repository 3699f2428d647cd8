import Fulfillment
import Postgres
import Synchronization

/// The ledger in PostgreSQL, which commits decisions in groups without a timer. Each time a writer's SQL transaction
/// ends, the writer takes all decisions that are ready. So a higher load makes larger batches.
///
/// Close the ledger before its pool: `close` ends the running SQL transactions.
public final class PostgresLedger: PurchaseLedger {
    public struct Limits: Sendable {
        /// The most SQL transactions for decisions at the same time.
        public var writers = 2
        /// The number of waiting submissions from which a second writer helps. Two half-size batches cost the database
        /// more than one batch, but with a backlog both writers are busy.
        public var backlog = 400
        var maximumBatch = 400
        /// The most bytes of a batch, approximately.
        var maximumBatchBytes = 4 << 20
        /// The size of a group after which the writer always waits a moment, so that the next group is larger: an SQL
        /// transaction costs the database as much as dozens of rows. After a larger group the writer waits longer.
        public var busyGroup = 8
        var gatheringDelay = Duration.milliseconds(4)
        /// The longest wait after any group. After a small group, the writer waits only if another decision will
        /// probably come.
        public var longestGatheringDelay = Duration.milliseconds(10)
        /// The closure returns the present upper limit of the wait after a small group. If there is no closure, only
        /// `longestGatheringDelay` limits this wait.
        public var gatheringBound: (@Sendable () -> Duration)?
        /// The longest time that acknowledged events wait for a batch that deletes them.
        public var acknowledgementDelay = Duration.seconds(1)

        public init() {}
    }

    /// The settings of a worker's sessions. `enable_seqscan` is off because the server keeps a prepared statement's
    /// plan: a plan from the time when a table was empty would scan the grown table until it is analyzed. `jit` is off
    /// because with `enable_seqscan` off, a statement without an index, such as a count, gets such a high estimated
    /// cost that the server would compile it each time. `plan_cache_mode` keeps the server from planning larger
    /// statements again for each small batch, which would cost more than running them.
    public static let sessionSettings = [
        "enable_seqscan": "off", "jit": "off", "plan_cache_mode": "force_generic_plan",
    ]

    let pool: PostgresPool
    /// The pool's sessions for decisions. If a connection's database lacks a commit of this process, no job uses the
    /// connection until the losses are known.
    public let deciding: PostgresPool
    public let fallBacks: FallBackWatch
    let limits: Limits
    let observer: LedgerObserver
    let decisions = GroupQueue<PendingDecision, Durable<RecordedOutcome>>()
    let queries = GroupQueue<RecallQuery, Durable<Recollection>>()
    let acknowledged = AcknowledgedEvents()
    let conflicts = ConflictWatch()
    /// The number of committed SQL transactions of decisions.
    let commits = Atomic<Int>(0)
    /// The decisions of batches whose session hung, or waited too long for a lock. They are retried separately, so that
    /// no other decision waits for them.
    let stuck = GroupQueue<PendingDecision, Durable<RecordedOutcome>>()
    /// The acknowledged events whose outbox rows a hanging session may have locked. No batch deletes them.
    let stuckAcknowledged = AcknowledgedEvents()
    private let isConnected = Mutex(false)
    private let loops = Mutex(Loops())

    private struct Loops {
        var all: [Task<Void, Never>] = []
        /// The running flush. `acknowledged` makes sure that there is at most one.
        var flush: Task<Void, Never>?
    }

    /// Starts at once, and connects when there is work. `pool` needs one session for each writer, one for recalls and
    /// one more.
    public init(pool: PostgresPool, limits: Limits = Limits(), observer: LedgerObserver = LedgerObserver()) {
        let fallBacks = FallBackWatch()
        self.pool = pool
        self.fallBacks = fallBacks
        deciding = pool.vouched { session throws(PostgresError) in try fallBacks.vouch(for: session) }
        self.limits = limits
        self.observer = observer
        let writers = (0..<max(limits.writers, 1)).map { number in
            Task { await self.write(as: WriterNumber(number, of: max(limits.writers, 1) + 1)) }
        }
        let others = [
            Task { await self.settleStuck(as: WriterNumber(max(limits.writers, 1), of: max(limits.writers, 1) + 1)) },
            Task { await self.answerQueries(minimum: 1) },
            // The second reader takes only queries that the first reader does not take in time.
            Task { await self.answerQueries(minimum: .max) },
            Task { await self.decisions.watch() },
            Task { await self.queries.watch() },
        ]
        loops.withLock { $0.all = writers + others }
    }

    public func recollect(_ query: RecallQuery) async throws(LedgerClosed) -> Durable<Recollection> {
        try await queries.ask(query, size: 1)
    }

    public func settle(_ decision: PendingDecision) async throws(LedgerClosed) -> Durable<RecordedOutcome> {
        try await decisions.ask(decision, size: decision.approximateSize)
    }

    /// Throws a `PostgresError`.
    public func meetDatabase() async throws { _ = try await deciding.run { try DatabaseHistory.read(in: $0) } }
    public func watchFallBacks(_ tell: @escaping @Sendable () -> Void) { fallBacks.watch(tell) }
    public var fallBackCount: Int { fallBacks.count }
    public func lossesAreKnown(after count: Int) { fallBacks.reopen(after: count) }

    public func published(_ eventIDs: [NameBasedUUID]) {
        guard !eventIDs.isEmpty, acknowledged.add(eventIDs), !decisions.isClosed else { return }
        let flush = Task { await self.flushAcknowledged() }
        loops.withLock { $0.flush = flush }
    }

    /// Fails waiting decisions, waits for running SQL transactions, and deletes the outbox rows of acknowledged events.
    /// May be called twice.
    public func close() async {
        decisions.close()
        stuck.close()
        queries.close()
        let loops = self.loops.withLock { loops in
            defer { loops = Loops() }
            return loops.all + (loops.flush.map { [$0] } ?? [])
        }
        for loop in loops { loop.cancel() }
        for loop in loops { await loop.value }
        _ = await deleteAcknowledged()
        await deleteStuckAcknowledged()
    }

    /// Returns for each of `partitions` an offset above which no record was ever decided. The offset is rounded up, so
    /// a record up to it may be decided or not. A partition without decisions has no entry. Throws a `PostgresError`.
    public func decidedOffsets(topic: String, partitions: [Int32]) async throws -> [Int32: Int64] {
        try await pool.run { try DecidedOffsets.run(topic: topic, partitions: partitions, in: $0) }
    }
}

extension PostgresLedger {
    /// - Parameter share: the share of the delay that applies after a small group.
    func gathering(share: Double = 1) -> Gathering {
        Gathering(
            busyGroup: limits.busyGroup, busyDelay: limits.gatheringDelay, longestDelay: limits.longestGatheringDelay,
            share: share)
    }

    /// Waits after a group of `count`, so that the next group grows.
    func gather(_ gathering: inout Gathering, after count: Int) async {
        let delay = gathering.delay(behind: count, now: .now, atMost: limits.gatheringBound?())
        if delay > .zero { try? await Task.sleep(for: delay) }
    }

    func noteSuccess(of part: LedgerObserver.Part) {
        observer.succeeded(part)
        let wasConnected = isConnected.withLock { isConnected in
            defer { isConnected = true }
            return isConnected
        }
        if !wasConnected { observer.connected() }
    }

    func note(_ error: PostgresError, of part: LedgerObserver.Part) {
        observer.failed(part, error)
        observer.trouble(.failed(error))
        guard error.kind == .connection || error.kind == .commitOutcomeUnknown else { return }
        let wasConnected = isConnected.withLock { isConnected in
            defer { isConnected = false }
            return isConnected
        }
        if wasConnected { observer.disconnected(error) }
    }

    private func flushAcknowledged() async {
        repeat {
            try? await Task.sleep(for: limits.acknowledgementDelay)
            if Task.isCancelled { return }
            _ = await deleteAcknowledged()
        } while !acknowledged.flushEnded()
    }

    /// Deletes the outbox rows of acknowledged events, in one try. Returns false if some rows are left.
    private func deleteAcknowledged() async -> Bool {
        while true {
            let ids = acknowledged.take()
            if ids.isEmpty { return true }
            do {
                try await pool.run { try DeleteAcknowledged.run(ids, in: $0) }
                noteSuccess(of: .acknowledgements)
            } catch {
                acknowledged.restore(ids)
                note(PostgresError(caught: error), of: .acknowledgements)
                return false
            }
        }
    }
}

extension PostgresError {
    /// Returns a `PostgresError` for any error. The pool's jobs should throw only `PostgresError`s; after any other
    /// error, the ledger retries.
    init(caught error: any Error) {
        self =
            error as? PostgresError
            ?? PostgresError(sqlState: nil, message: "\(type(of: error))", kind: .other)
    }
}
