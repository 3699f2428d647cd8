import Fulfillment
import Synchronization

/// A queue of many callers' requests. Takers, such as writers, take them in groups. Whenever a taker comes back, it
/// takes all ready requests, up to its limits. So groups grow with the load, and no request waits for a timer.
final class GroupQueue<Request: Sendable, Answer: Sendable>: Sendable {
    /// A class, because a request is large, and would otherwise be copied several times.
    final class Entry: Sendable {
        let request: Request
        /// The approximate size of the request in bytes. The number of requests and the sum of their sizes limit a
        /// group.
        let size: Int
        private let continuation: CheckedContinuation<Result<Answer, LedgerClosed>, Never>

        fileprivate init(
            request: Request, size: Int, continuation: CheckedContinuation<Result<Answer, LedgerClosed>, Never>
        ) {
            self.request = request
            self.size = size
            self.continuation = continuation
        }

        /// Answers the caller. Call exactly one of `answer` and `fail`, once for each entry.
        func answer(_ answer: Answer) { continuation.resume(returning: .success(answer)) }
        func fail() { continuation.resume(returning: .failure(LedgerClosed())) }
    }

    private struct State {
        var waiting: [Entry] = []
        /// The takers that wait, each with the number of waiting requests that wakes it.
        var idle: [(minimum: Int, continuation: CheckedContinuation<Void, Never>)] = []
        /// The task of `watch`, which sleeps while all requests have a taker; nil if it is awake.
        var watch: CheckedContinuation<Void, Never>?
        var isClosed = false
        /// The time since which requests have waited without a taker; nil if none waits.
        var unattendedSince: ContinuousClock.Instant?

        func isOverdue(after patience: Duration) -> Bool {
            unattendedSince.map { ContinuousClock.now - $0 >= patience } ?? false
        }
    }

    private let state = Mutex(State())
    private let patience: Duration

    /// - Parameter patience: the time after which an idle taker also takes fewer requests than its minimum. The other
    ///   takers may be blocked by a session that hangs.
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

    /// Waits until `minimum` requests are ready, or until fewer requests have waited without a taker for too long.
    /// Takes them, oldest first. Returns nil once the queue is closed.
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

    /// Takes the ready requests without waiting; nil if there are none.
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

    /// Adds requests, which may be new, or may come from another queue whose taker could not answer them. If the queue
    /// is closed, the requests fail.
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

    /// Wakes idle takers whenever requests have waited without a taker for too long, until the task is cancelled or the
    /// queue is closed. Call it once.
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

    /// Waits until a request has no taker, so that an empty queue wakes no task. Returns false if the task is cancelled
    /// or the queue is closed.
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

    /// Fails all waiting and all later requests. A request that was taken stays with its taker.
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
