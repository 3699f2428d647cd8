import Fulfillment
import Synchronization

/// The work was given up before its outcome. It will come again.
struct Abandoned: Error {}

/// The work in memory on one submission or held purchase. It knows whether the work only waits, so that it may be given
/// up, and its tries at Apple.
final class WorkInHand: Sendable {
    /// The position of the record that brought it.
    let position: RecordPosition
    /// The answer that all leased with the same proof share; nil for a record.
    private let groupAnswer: GroupAnswer?

    private struct State {
        var task: Task<Void, Never>?
        var isWaiting = false
        var isAbandoned = false
        var isOver = false
        var tries: [AppleTry] = []
        var tryCount = 0
    }

    private let state = Mutex(State())

    init(at position: RecordPosition, sharing answer: GroupAnswer? = nil) {
        self.position = position
        groupAnswer = answer
    }

    func start(_ work: @escaping @Sendable () async -> Void) {
        let task = Task { await work() }
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

    /// Gives up work that only waits, because its partition is leaving. Work under way may finish.
    ///
    /// Each one hears of it before any is cancelled. Otherwise a cancelled one would hand its player's turn to a later
    /// one that does not know yet, and the later one would be answered first.
    /// - Parameter immediately: true to cancel work under way too, as far as that is possible.
    static func abandon(_ all: [WorkInHand], immediately: Bool) {
        for work in all { work.state.withLock { $0.isAbandoned = true } }
        for work in all {
            work.state.withLock { $0.isWaiting || immediately ? $0.task : nil }?.cancel()
        }
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

    /// Notes that the work only waits from now on, or no longer. Waiting work is given up at once when its partition
    /// leaves.
    func setWaiting(_ isWaiting: Bool) {
        let task = state.withLock { state -> Task<Void, Never>? in
            state.isWaiting = isWaiting
            return isWaiting && state.isAbandoned ? state.task : nil
        }
        task?.cancel()
    }

    /// Asks Apple, or takes the answer that another one of its group got.
    func sharedAnswer(_ ask: @Sendable () async -> AppleAnswer) async -> AppleAnswer {
        if let groupAnswer { await groupAnswer.value(ask) } else { await ask() }
    }

    func add(_ latest: AppleTry) {
        state.withLock { state in
            state.tries.note(latest)
            state.tryCount += 1
        }
    }

    /// The last tries at Apple since it came into memory.
    var tries: [AppleTry] { state.withLock { $0.tries } }

    /// The number of tries at Apple since it came into memory.
    var tryCount: Int { state.withLock { $0.tryCount } }
}
