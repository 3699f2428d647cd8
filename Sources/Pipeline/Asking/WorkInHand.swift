import Fulfillment
import Synchronization

/// The error of work that was abandoned without an outcome. Kafka or the database will deliver the work again.
struct Abandoned: Error {}

/// The work in memory on one submission or held purchase, with its tries at Apple. The object also records whether the
/// work only waits, because the worker can abandon waiting work at once.
final class WorkInHand: Sendable {
    /// The position of the record that brought the submission.
    let position: RecordPosition
    /// Apple's answer for all rows with this proof that the worker leased together; nil if the work came from a record.
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
            // The task refers to this object, so the object must not refer to an ended task: such a cycle would never
            // be freed.
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

    /// Abandons work whose partition is revoked. Cancels only waiting work; other work may finish.
    ///
    /// When abandoned work ends, the player's next submission has the turn. If that submission were not marked as
    /// abandoned yet, the worker would answer it before its predecessor. So this function marks later records first,
    /// and marks all work before it cancels a task.
    /// - Parameter immediately: if true, also cancels work that does not wait.
    static func abandon(_ all: [WorkInHand], immediately: Bool) {
        for work in all.sorted(by: { $0.position.offset > $1.position.offset }) {
            work.state.withLock { $0.isAbandoned = true }
        }
        for work in all {
            work.state.withLock { $0.isWaiting || immediately ? $0.task : nil }?.cancel()
        }
    }

    /// Throws `Abandoned` if the work is abandoned. To keep a player's order, call this when the work's turn in the
    /// player's lane has come.
    func checkAbandonment() throws(Abandoned) {
        if state.withLock({ $0.isAbandoned }) { throw Abandoned() }
    }

    /// Runs a wait during which the work can be abandoned. Throws `Abandoned` if `body` throws, or if the work is
    /// abandoned.
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

    /// Sets whether the work only waits. If the work is abandoned and begins to wait, this cancels the work at once.
    func setWaiting(_ isWaiting: Bool) {
        let task = state.withLock { state -> Task<Void, Never>? in
            state.isWaiting = isWaiting
            return isWaiting && state.isAbandoned ? state.task : nil
        }
        task?.cancel()
    }

    /// Runs `ask`. If earlier work of the group already has Apple's answer, returns that answer instead.
    func sharedAnswer(_ ask: @Sendable () async -> AppleAnswer) async -> AppleAnswer {
        if let groupAnswer { await groupAnswer.value(ask) } else { await ask() }
    }

    func add(_ latest: AppleTry) {
        state.withLock { state in
            state.tries.note(latest)
            state.tryCount += 1
        }
    }

    /// The latest tries at Apple since the work came into memory.
    var tries: [AppleTry] { state.withLock { $0.tries } }

    /// The number of tries at Apple since the work came into memory.
    var tryCount: Int { state.withLock { $0.tryCount } }
}
