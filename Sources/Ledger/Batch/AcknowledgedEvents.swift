import Fulfillment
import Synchronization

/// Events whose outbox rows may go. The next batch deletes them; where none comes, a transaction of their own.
final class AcknowledgedEvents: Sendable {
    /// Ids that one transaction deletes at most.
    static let maximumTaken = 4_000

    private struct State {
        var ids: [NameBasedUUID] = []
        var isFlushDue = false
    }

    private let state = Mutex(State())

    /// True where the caller is to see to it that they go in a while: nobody else does yet.
    func add(_ ids: [NameBasedUUID]) -> Bool {
        state.withLock { state in
            state.ids += ids
            defer { state.isFlushDue = true }
            return !state.isFlushDue
        }
    }

    func take() -> [NameBasedUUID] {
        state.withLock { state in
            let taken = Array(state.ids.prefix(Self.maximumTaken))
            state.ids.removeFirst(taken.count)
            return taken
        }
    }

    /// After a transaction that failed.
    func restore(_ ids: [NameBasedUUID]) {
        state.withLock { $0.ids = ids + $0.ids }
    }

    /// True where none is left; then the next to come asks for a flush of its own.
    func flushEnded() -> Bool {
        state.withLock { state in
            if state.ids.isEmpty { state.isFlushDue = false }
            return state.ids.isEmpty
        }
    }
}
