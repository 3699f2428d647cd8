import Fulfillment
import Synchronization

/// Events that Kafka acknowledged, so that their outbox rows may be deleted. The next batch deletes these rows. If no
/// batch comes, a separate SQL transaction deletes them (a flush).
final class AcknowledgedEvents: Sendable {
    /// The most ids that one SQL transaction deletes.
    static let maximumTaken = 4_000

    private struct State {
        var ids: [NameBasedUUID] = []
        var isFlushDue = false
    }

    private let state = Mutex(State())

    /// Adds acknowledged events. Returns true if no flush is scheduled, so that the caller must schedule one.
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

    /// Puts back the ids of an SQL transaction that failed.
    func restore(_ ids: [NameBasedUUID]) {
        state.withLock { $0.ids = ids + $0.ids }
    }

    /// Notes that a flush ended. Returns true if no event is left. Then no flush is scheduled, so the next `add` asks its
    /// caller to schedule one.
    func flushEnded() -> Bool {
        state.withLock { state in
            if state.ids.isEmpty { state.isFlushDue = false }
            return state.ids.isEmpty
        }
    }
}
