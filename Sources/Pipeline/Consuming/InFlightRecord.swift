import Fulfillment
import Kafka
import Synchronization

/// The work on a record was given up before its outcome: the record will come again.
struct Abandoned: Error {}

/// One record between admission and the end of its work.
final class InFlightRecord: Sendable {
    /// Without its value where that was decoded.
    let record: ConsumerRecord
    let position: RecordPosition
    let decoded: SubmissionDecoder.Decoded
    let ticket: PlayerLanes.Ticket?
    /// Counts assignments: what was admitted under an older one no longer moves offsets.
    let assignment: UInt64
    /// Counts how often offsets had fallen back under this assignment.
    let lap: Int
    /// What it holds in memory, about.
    let byteCount: Int
    /// False where the record's offset lies above all that were ever decided in its partition.
    let mayBeRedelivered: Bool
    /// Where it was taken up from PostgreSQL and not from Kafka.
    let parked: ParkedWork?
    /// Since when it is in memory, in monotonic seconds.
    let since = WallClock.monotonicSeconds

    private struct State {
        var task: Task<Void, Never>?
        var isWaiting = false
        var isAbandoned = false
        var isOver = false
        var tries: [AppleTry] = []
        /// How many were ever noted.
        var triesNoted = 0
        var decidedIn: DatabaseHistory?
    }

    private let state = Mutex(State())

    init(
        record: ConsumerRecord, position: RecordPosition, decoded: SubmissionDecoder.Decoded,
        ticket: PlayerLanes.Ticket?, assignment: UInt64, lap: Int = 0, mayBeRedelivered: Bool,
        parked: ParkedWork? = nil
    ) {
        // A submission holds all of it; of what becomes a dead letter nothing else does.
        if case .submission = decoded { self.record = record.withoutValue } else { self.record = record }
        self.position = position
        self.decoded = decoded
        self.ticket = ticket
        self.assignment = assignment
        self.lap = lap
        byteCount = record.byteCount
        self.mayBeRedelivered = mayBeRedelivered
        self.parked = parked
    }

    func start(_ work: @escaping @Sendable (InFlightRecord) async -> Void) {
        let task = Task { await work(self) }
        let isCancelled = state.withLock { state in
            // The task refers to this record: kept only while it runs, so that no cycle outlives it.
            if !state.isOver { state.task = task }
            return state.isAbandoned
        }
        if isCancelled { task.cancel() }
    }

    func end() {
        state.withLock { state in
            state.isOver = true
            state.task = nil
        }
    }

    /// The partition is going: work that only waits is given up at once, work under way may finish.
    ///
    /// All are told before any is cancelled: else one that is given up would hand its player's turn to a later one that
    /// does not know yet, and that one would be answered first.
    /// - Parameter immediately: also cancels what is under way, as far as it can be.
    static func abandon(_ records: [InFlightRecord], immediately: Bool) {
        for record in records { record.state.withLock { $0.isAbandoned = true } }
        for record in records {
            record.state.withLock { $0.isWaiting || immediately ? $0.task : nil }?.cancel()
        }
    }

    func abandon(immediately: Bool) {
        Self.abandon([self], immediately: immediately)
    }

    /// Runs a wait that may be given up.
    func waiting(_ body: () async throws -> Void) async throws(Abandoned) {
        let isAbandoned = state.withLock { state in
            state.isWaiting = !state.isAbandoned
            return state.isAbandoned
        }
        if isAbandoned { throw Abandoned() }
        var isCancelled = false
        do { try await body() } catch { isCancelled = true }
        let isGivenUp = state.withLock { state in
            state.isWaiting = false
            return state.isAbandoned
        }
        if isCancelled || isGivenUp || Task.isCancelled { throw Abandoned() }
    }

    func note(_ latest: AppleTry) {
        state.withLock { state in
            state.tries.note(latest)
            state.triesNoted += 1
        }
    }

    /// Its outcome is durable in a database of this history.
    func wasDecided(in history: DatabaseHistory) {
        state.withLock { $0.decidedIn = history }
    }

    /// Nil where no database was needed.
    var decidedIn: DatabaseHistory? { state.withLock { $0.decidedIn } }

    /// The last tries at Apple, those before it was parked too.
    var tries: [AppleTry] {
        let own = state.withLock { $0.tries }
        guard let earlier = parked?.leased.history.tries, !earlier.isEmpty else { return own }
        return Array((earlier + own).suffix(AppleTry.maximumKept))
    }

    /// Counts the tries of this life in memory.
    var triesNoted: Int { state.withLock { $0.triesNoted } }

    /// The work only waits, or does so no longer: what only waits is given up at once when its partition goes.
    func note(isWaiting: Bool) {
        let task = state.withLock { state -> Task<Void, Never>? in
            state.isWaiting = isWaiting
            return isWaiting && state.isAbandoned ? state.task : nil
        }
        task?.cancel()
    }
}
