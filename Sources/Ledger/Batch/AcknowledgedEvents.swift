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

    /// Returns true if the caller must make sure that they are deleted in a while, because nobody else does yet.
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

    /// Puts the ids back after a transaction that failed.
    func restore(_ ids: [NameBasedUUID]) {
        state.withLock { $0.ids = ids + $0.ids }
    }

    /// Returns true if none is left. The next caller of `add` then asks for a flush of its own.
    func flushEnded() -> Bool {
        state.withLock { state in
            if state.ids.isEmpty { state.isFlushDue = false }
            return state.ids.isEmpty
        }
    }
}
