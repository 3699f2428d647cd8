import Fulfillment
import Synchronization

/// Requests of many callers, taken in groups: whoever answers takes all that is ready each time it comes back, so that
/// groups grow with the load and nobody waits for a timer.
final class GroupQueue<Request: Sendable, Answer: Sendable>: Sendable {
    /// A class, since requests are wide values that would be copied field by field on their way.
    final class Entry: Sendable {
        let request: Request
        /// Bytes, roughly: what a group is bounded by besides its count.
        let size: Int
        private let continuation: CheckedContinuation<Result<Answer, LedgerClosed>, Never>

        fileprivate init(
            request: Request, size: Int, continuation: CheckedContinuation<Result<Answer, LedgerClosed>, Never>
        ) {
            self.request = request
            self.size = size
            self.continuation = continuation
        }

        /// Exactly once for each entry.
        func answer(_ answer: Answer) { continuation.resume(returning: .success(answer)) }
        func fail() { continuation.resume(returning: .failure(LedgerClosed())) }
    }

    private struct State {
        var waiting: [Entry] = []
        /// The tasks that wait to answer, and how many requests it takes to call each.
        var idle: [(minimum: Int, continuation: CheckedContinuation<Void, Never>)] = []
        /// The watch, while there is nothing that nobody came for.
        var watch: CheckedContinuation<Void, Never>?
        var isClosed = false
        /// The time since which an entry has waited that nobody came for; nil if nothing waits.
        var unattendedSince: ContinuousClock.Instant?

        func isOverdue(after patience: Duration) -> Bool {
            unattendedSince.map { ContinuousClock.now - $0 >= patience } ?? false
        }
    }

    private let state = Mutex(State())
    private let patience: Duration

    /// - Parameter patience: after which whoever is idle takes what nobody came for, however little it is: those who would
    ///   have come may be held up by a session that hangs.
    init(patience: Duration = .milliseconds(500)) {
        self.patience = patience
    }

    var isClosed: Bool { state.withLock(\.isClosed) }
    var isEmpty: Bool { state.withLock(\.waiting.isEmpty) }

    func ask(_ request: Request, size: Int) async throws(LedgerClosed) -> Answer {
        let result = await withCheckedContinuation { continuation in
            add([Entry(request: request, size: size, continuation: continuation)])
        }
        return try result.get()
    }

    /// Returns all ready requests, oldest first, and waits until there are at least `minimum`. Returns nil once the
    /// queue is closed.
    func next(minimum: Int = 1, maximum: Int, bytes: Int) async -> [Entry]? {
        while true {
            let (group, isClosed) = state.withLock { state in
                let isTime = state.waiting.count >= minimum || state.isOverdue(after: patience)
                return (isTime ? Self.take(&state, maximum, bytes) : [], state.isClosed)
            }
            if !group.isEmpty { return group }
            if isClosed { return nil }
            await withCheckedContinuation { continuation in
                let mayGoOn = state.withLock { state in
                    guard state.waiting.count < minimum, !state.isClosed, !state.isOverdue(after: patience)
                    else { return true }
                    state.idle.append((minimum, continuation))
                    return false
                }
                if mayGoOn { continuation.resume() }
            }
        }
    }

    /// Takes the ready entries, without waiting; nil if there are none.
    func take(maximum: Int, bytes: Int) -> [Entry]? {
        let group = state.withLock { Self.take(&$0, maximum, bytes) }
        return group.isEmpty ? nil : group
    }

    private static func take(_ state: inout State, _ maximum: Int, _ bytes: Int) -> [Entry] {
        var size = 0
        let count =
            state.waiting.prefix(maximum).firstIndex { entry in
                defer { size += entry.size }
                return size > 0 && size + entry.size > bytes
            } ?? min(maximum, state.waiting.count)
        let group = Array(state.waiting.prefix(count))
        state.waiting.removeFirst(count)
        state.unattendedSince = state.waiting.isEmpty ? nil : .now
        return group
    }

    /// Adds requests that another queue's taker could not answer. They fail where the queue is closed.
    func add(_ entries: [Entry]) {
        typealias Sleeper = CheckedContinuation<Void, Never>
        let (isClosed, idle, watch) = state.withLock { state -> (Bool, Sleeper?, Sleeper?) in
            if state.isClosed { return (true, nil, nil) }
            if state.waiting.isEmpty { state.unattendedSince = .now }
            state.waiting += entries
            let called = state.idle.firstIndex { $0.minimum <= state.waiting.count }
            return (false, called.map { state.idle.remove(at: $0).continuation }, state.watch.take())
        }
        if isClosed { for entry in entries { entry.fail() } }
        idle?.resume()
        watch?.resume()
    }

    /// Calls whoever is idle where nobody comes, until the task is cancelled or the queue closed. To be called once.
    func watch() async {
        while await isUnattended(), (try? await Task.sleep(for: patience / 2)) != nil {
            let idle = state.withLock { state in
                guard state.isOverdue(after: patience) else { return [] as [CheckedContinuation<Void, Never>] }
                defer { state.idle = [] }
                return state.idle.map(\.continuation)
            }
            for continuation in idle { continuation.resume() }
        }
    }

    /// Waits until there is a request that nobody came for, so that an empty queue wakes nobody. Returns false if there
    /// will be none.
    private func isUnattended() async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let mayGoOn = state.withLock { state in
                    guard state.unattendedSince == nil, !state.isClosed, !Task.isCancelled else { return true }
                    state.watch = continuation
                    return false
                }
                if mayGoOn { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.watch.take() }?.resume()
        }
        return !isClosed && !Task.isCancelled
    }

    /// Fails what waits and all that comes; what was taken is its taker's.
    func close() {
        let (waiting, idle, watch) = state.withLock { state in
            defer {
                state.waiting = []
                state.idle = []
                state.isClosed = true
                state.unattendedSince = nil
            }
            return (state.waiting, state.idle, state.watch.take())
        }
        watch?.resume()
        for entry in waiting { entry.fail() }
        for (_, continuation) in idle { continuation.resume() }
    }
}
