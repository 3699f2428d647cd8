import Fulfillment
import Synchronization

/// Lets a limited number of tasks run at once. Tasks of one kind get permits in the order in which they came.
/// `RequestShares` divides the permits among the kinds.
///
/// A task takes a free permit without a suspension. A task that is cancelled during its wait leaves the queue.
public final class ConcurrencyGate: Sendable {
    private struct Waiter {
        let ticket: UInt64
        let since: Double
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var limit: Int
        var shares = RequestShares()
        var nextTicket: UInt64 = 0
        var waiters = RequestQueue<Waiter>()

        /// Takes a permit and returns true, if a permit is free and no earlier request of the kind waits. Otherwise
        /// returns false.
        mutating func mayEnter(_ kind: RequestKind) -> Bool {
            guard !waiters.isWaiting(kind), shares.admits(kind, beside: waiters, limit: limit) else { return false }
            shares.began(kind)
            return true
        }

        mutating func admit() -> [Waiter] {
            var admitted: [Waiter] = []
            while let kind = waiters.next(where: { shares.admits($0, beside: waiters, limit: limit) }),
                let waiter = waiters.take(kind)
            {
                shares.began(kind)
                admitted.append(waiter)
            }
            return admitted
        }
    }

    private let state: Mutex<State>
    private let queued: (@Sendable () -> Void)?

    /// - Parameters:
    ///   - limit: the most permits at once; less than 1 counts as 1.
    ///   - queued: called each time that a task has entered the queue; nil for no call.
    public init(limit: Int, queued: (@Sendable () -> Void)? = nil) {
        self.queued = queued
        state = Mutex(State(limit: max(1, limit)))
    }

    public var limit: Int { state.withLock { $0.limit } }
    /// The number of permits in use. It may exceed `limit` for a while after `adjust` lowered `limit`.
    public var inUse: Int { state.withLock { $0.shares.total } }
    /// The number of tasks that wait for a permit.
    public var waiting: Int { state.withLock { $0.waiters.count } }

    /// Sets the most permits at once; less than 1 counts as 1. Permits in use stay in use.
    public func adjust(limit: Int) {
        let admitted = state.withLock { state in
            state.limit = max(1, limit)
            return state.admit()
        }
        for waiter in admitted { waiter.continuation.resume(returning: true) }
    }

    /// Runs `body` with one permit. Returns nil if the task was cancelled or dismissed before it got a permit.
    /// - Parameters:
    ///   - since: the time at which the task's wait began, for `dismiss`.
    ///   - mustWait: called if the request gets no permit at once.
    public func withPermit<Result>(
        _ kind: RequestKind = RequestKind(isFresh: true, isProven: true), since: Double = 0,
        mustWait: () -> Void = {}, _ body: () async -> Result
    ) async -> Result? {
        guard await enter(kind, since: since, mustWait) else { return nil }
        defer { leave(kind) }
        return await body()
    }

    private enum Entry {
        case admitted
        case mustWait(ticket: UInt64)
    }

    /// Removes waiting requests of these kinds from the queue if they began to wait before `time`. They get no permit.
    public func dismiss(_ kinds: [RequestKind], waitingSince time: Double) {
        let (dismissed, admitted) = state.withLock { state in
            let dismissed = state.waiters.takeFirst(kinds) { $0.since < time }
            return (dismissed, dismissed.isEmpty ? [] : state.admit())
        }
        for waiter in dismissed { waiter.continuation.resume(returning: false) }
        for waiter in admitted { waiter.continuation.resume(returning: true) }
    }

    /// Waits for a permit. Returns false if the task was cancelled or dismissed before it got a permit. After true, the
    /// caller must call `leave`.
    func enter(_ kind: RequestKind, since: Double, _ mustWait: () -> Void) async -> Bool {
        if Task.isCancelled { return false }
        let entry = state.withLock { state -> Entry in
            if state.mayEnter(kind) { return .admitted }
            state.nextTicket += 1
            return .mustWait(ticket: state.nextTicket)
        }
        switch entry {
        case .admitted: return true
        case .mustWait(let ticket):
            mustWait()
            return await wait(kind, ticket: ticket, since: since)
        }
    }

    private func wait(_ kind: RequestKind, ticket: UInt64, since: Double) async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // The lock covers the check for cancellation. Swift sets the flag before it runs the handler, so either
                // this check sees the flag or the handler finds the waiter.
                let admitted = state.withLock { state -> Bool? in
                    if Task.isCancelled { return false }
                    if state.mayEnter(kind) { return true }
                    state.waiters.append(Waiter(ticket: ticket, since: since, continuation: continuation), kind)
                    return nil
                }
                if let admitted { continuation.resume(returning: admitted) } else { queued?() }
            }
        } onCancel: {
            // Requests that waited behind the cancelled request may go now.
            let (cancelled, admitted) = state.withLock { state in
                (state.waiters.remove { $0.ticket == ticket }, state.admit())
            }
            cancelled?.continuation.resume(returning: false)
            for waiter in admitted { waiter.continuation.resume(returning: true) }
        }
    }

    /// Gives a permit of this kind back.
    func leave(_ kind: RequestKind) {
        let admitted = state.withLock { state in
            state.shares.ended(kind)
            return state.admit()
        }
        for waiter in admitted { waiter.continuation.resume(returning: true) }
    }
}
