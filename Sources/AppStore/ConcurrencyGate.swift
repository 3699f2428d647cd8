import NIOCore
import Synchronization

/// Lets a limited number of tasks through at once, first come first served.
///
/// A permit that is free is taken without a suspension. A task that is cancelled while it waits leaves the queue.
public final class ConcurrencyGate: Sendable {
    private struct Waiter {
        let ticket: UInt64
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var limit: Int
        var inUse = 0
        var nextTicket: UInt64 = 0
        var waiters = CircularBuffer<Waiter>()
    }

    private let state: Mutex<State>

    /// - Parameter limit: permits at once; less than 1 counts as 1.
    public init(limit: Int) {
        state = Mutex(State(limit: max(1, limit)))
    }

    public var limit: Int { state.withLock { $0.limit } }
    /// Permits held. Above `limit` for a while after it was lowered.
    public var inUse: Int { state.withLock { $0.inUse } }
    /// Tasks that wait for a permit.
    public var waiting: Int { state.withLock { $0.waiters.count } }

    /// Sets the permits at once; less than 1 counts as 1. Permits that are held stay held.
    public func adjust(limit: Int) {
        let admitted = state.withLock { state in
            state.limit = max(1, limit)
            var admitted: [Waiter] = []
            while state.inUse < state.limit, let waiter = state.waiters.popFirst() {
                state.inUse += 1
                admitted.append(waiter)
            }
            return admitted
        }
        for waiter in admitted { waiter.continuation.resume(returning: true) }
    }

    /// Runs `body` with one permit. Nil where the task was cancelled before it got one.
    public func withPermit<Result>(_ body: () async -> Result) async -> Result? {
        guard await enter() else { return nil }
        defer { leave() }
        return await body()
    }

    private enum Entry {
        case admitted
        case mustWait(ticket: UInt64)
    }

    private func enter() async -> Bool {
        if Task.isCancelled { return false }
        let entry = state.withLock { state -> Entry in
            if state.inUse < state.limit, state.waiters.isEmpty {
                state.inUse += 1
                return .admitted
            }
            state.nextTicket += 1
            return .mustWait(ticket: state.nextTicket)
        }
        switch entry {
        case .admitted: return true
        case .mustWait(let ticket): return await wait(ticket: ticket)
        }
    }

    private func wait(ticket: UInt64) async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // Cancellation is looked at under the lock: its handler runs after the flag is set, so that either
                // this look sees the flag or the handler finds the waiter.
                let admitted = state.withLock { state -> Bool? in
                    if Task.isCancelled { return false }
                    if state.inUse < state.limit, state.waiters.isEmpty {
                        state.inUse += 1
                        return true
                    }
                    state.waiters.append(Waiter(ticket: ticket, continuation: continuation))
                    return nil
                }
                if let admitted { continuation.resume(returning: admitted) }
            }
        } onCancel: {
            let cancelled = state.withLock { state in
                state.waiters.firstIndex { $0.ticket == ticket }.map { state.waiters.remove(at: $0) }
            }
            cancelled?.continuation.resume(returning: false)
        }
    }

    private func leave() {
        let next = state.withLock { state -> Waiter? in
            // The permit passes to the next in line, unless the limit was lowered meanwhile.
            if state.inUse <= state.limit, let waiter = state.waiters.popFirst() { return waiter }
            state.inUse -= 1
            return nil
        }
        next?.continuation.resume(returning: true)
    }
}
