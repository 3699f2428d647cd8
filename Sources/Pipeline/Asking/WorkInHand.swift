import Fulfillment
import Synchronization

/// The error of work that was given up before its outcome. The work will come again.
struct Abandoned: Error {}

/// The work in memory on one submission or held purchase, with its tries at Apple. It knows whether it only waits,
/// because waiting work may be given up.
final class WorkInHand: Sendable {
    /// The position of the record that brought the submission.
    let position: RecordPosition
    /// The answer that all rows leased with the same proof share; nil for a record.
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
            // The task refers to this object. The object keeps the task only while it runs, so that no reference cycle
            // outlives the work.
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

    /// Gives up work that only waits, because its partition is revoked. Work under way may finish.
    ///
    /// All work is marked as abandoned before any task is cancelled. Otherwise a cancelled task would pass its player's
    /// turn to a later submission that is not marked yet, and the later submission would be answered first.
    /// - Parameter immediately: true to cancel work under way too, where possible.
    static func abandon(_ all: [WorkInHand], immediately: Bool) {
        for work in all { work.state.withLock { $0.isAbandoned = true } }
        for work in all {
            work.state.withLock { $0.isWaiting || immediately ? $0.task : nil }?.cancel()
        }
    }

    /// Runs a wait that may be given up. Throws `Abandoned` if the wait fails, is cancelled or is given up.
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

    /// Notes whether the work only waits from now on. Waiting work is given up at once when its partition is revoked.
    func setWaiting(_ isWaiting: Bool) {
        let task = state.withLock { state -> Task<Void, Never>? in
            state.isWaiting = isWaiting
            return isWaiting && state.isAbandoned ? state.task : nil
        }
        task?.cancel()
    }

    /// Asks Apple, or returns the answer that earlier work of the same group got.
    func sharedAnswer(_ ask: @Sendable () async -> AppleAnswer) async -> AppleAnswer {
        if let groupAnswer { await groupAnswer.value(ask) } else { await ask() }
    }

    func add(_ latest: AppleTry) {
        state.withLock { state in
            state.tries.note(latest)
            state.tryCount += 1
        }
    }

    /// The last tries at Apple since the work came into memory.
    var tries: [AppleTry] { state.withLock { $0.tries } }

    /// The number of tries at Apple since the work came into memory.
    var tryCount: Int { state.withLock { $0.tryCount } }
}
