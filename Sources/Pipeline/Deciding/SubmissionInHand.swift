import Fulfillment
import Kafka
import NamesAndTimes
import Synchronization

/// The work was given up before its outcome: it will come again.
struct Abandoned: Error {}

/// One submission in memory, from its admission or lease to the end of its work. It goes through all steps of
/// `SubmissionWorker`. A record that is no submission goes the short way to the dead letters.
final class SubmissionInHand: Sendable {
    let origin: Origin
    /// The position of the record that brought it.
    let position: RecordPosition
    let decoded: SubmissionDecoder.Decoded
    /// The submission's bytes in memory, about. 0 where it was leased: those are few.
    let byteCount: Int
    /// The time since which it is in memory, in monotonic seconds.
    let since = WallClock.monotonicSeconds
    /// The shared answer of those who were leased with the same proof; nil for a record.
    private let groupAnswer: GroupAnswer?

    private struct State {
        var task: Task<Void, Never>?
        var isWaiting = false
        var isAbandoned = false
        var isOver = false
        var secondsBehindOthers = 0.0
        var tries: [AppleTry] = []
        /// The number of tries so far.
        var tryCount = 0
        var decidedIn: DatabaseHistory?
    }

    private let state = Mutex(State())

    /// A record that was just admitted.
    init(_ admitted: AdmittedRecord, at position: RecordPosition, decoded: SubmissionDecoder.Decoded) {
        byteCount = admitted.byteCount
        origin = .record(admitted)
        self.position = position
        self.decoded = decoded
        groupAnswer = nil
    }

    /// A parked submission that is due.
    /// - Parameter answer: shared with others of the same app and proof.
    init(parked: LeasedSubmission, sharing answer: GroupAnswer = GroupAnswer()) {
        byteCount = 0
        origin = .parked(parked)
        position = parked.position
        decoded = .submission(parked.submission)
        groupAnswer = answer
    }

    /// A held transaction whose hold may end, as if its submission held nothing else.
    /// - Parameter answer: shared with the other holds of the submission.
    init(held: LeasedHold, sharing answer: GroupAnswer = GroupAnswer()) {
        byteCount = 0
        origin = .held(held)
        position = held.position
        decoded = .submission(held.submission)
        groupAnswer = answer
    }

    func start(_ work: @escaping @Sendable (SubmissionInHand) async -> Void) {
        let task = Task { await work(self) }
        let isCancelled = state.withLock { state in
            // The task refers to this object: kept only while it runs, so that no cycle outlives it.
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
    static func abandon(_ items: [SubmissionInHand], immediately: Bool) {
        for item in items { item.state.withLock { $0.isAbandoned = true } }
        for item in items {
            item.state.withLock { $0.isWaiting || immediately ? $0.task : nil }?.cancel()
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
        do { try await Suspected.waiting(body) } catch { isCancelled = true }
        let isGivenUp = state.withLock { state in
            state.isWaiting = false
            return state.isAbandoned
        }
        if isCancelled || isGivenUp || Task.isCancelled { throw Abandoned() }
    }

    /// The work only waits, or does so no longer: what only waits is given up at once when its partition goes.
    func setWaiting(_ isWaiting: Bool) {
        let task = state.withLock { state -> Task<Void, Never>? in
            state.isWaiting = isWaiting
            return isWaiting && state.isAbandoned ? state.task : nil
        }
        task?.cancel()
    }

    /// Notes that it waited for its turn so long.
    func noteBehindOthers(seconds: Double) { state.withLock { $0.secondsBehindOthers += seconds } }

    /// An outage of Apple as a whole does not count.
    var secondsBehindOthers: Double { state.withLock { $0.secondsBehindOthers } }

    func add(_ latest: AppleTry) {
        state.withLock { state in
            state.tries.note(latest)
            state.tryCount += 1
        }
    }

    /// The last tries at Apple, those before it was parked too.
    var tries: [AppleTry] {
        let own = state.withLock { $0.tries }
        guard let earlier = parked?.history.tries, !earlier.isEmpty else { return own }
        return Array((earlier + own).suffix(AppleTry.maximumKept))
    }

    /// Counts the tries of this life in memory.
    var tryCount: Int { state.withLock { $0.tryCount } }

    /// Asks, or takes what was answered to another one of its group.
    func sharedAnswer(_ ask: @Sendable () async -> AppleAnswer) async -> AppleAnswer {
        if let groupAnswer { await groupAnswer.value(ask) } else { await ask() }
    }

    /// Notes that the outcome is durable in a database of this history.
    func wasDecided(in history: DatabaseHistory) {
        state.withLock { $0.decidedIn = history }
    }

    /// Nil where no database was needed.
    var decidedIn: DatabaseHistory? { state.withLock { $0.decidedIn } }
}
