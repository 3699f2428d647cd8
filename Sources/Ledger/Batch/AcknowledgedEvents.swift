import Fulfillment
import Synchronization

/// Events that Kafka acknowledged, whose outbox rows may go. The next batch deletes these rows; if none comes, an SQL
/// transaction of their own does.
final class AcknowledgedEvents: Sendable {
    /// The most ids that one SQL transaction deletes.
    static let maximumTaken = 4_000

    private struct State {
        var ids: [NameBasedUUID] = []
        var isFlushDue = false
    }

    private let state = Mutex(State())

    /// Adds acknowledged events. Returns true if the caller must schedule a flush, because none is scheduled.
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

    /// Notes the end of a flush. Returns true if no event is left; the next call of `add` then asks for another flush.
    func flushEnded() -> Bool {
        state.withLock { state in
            if state.ids.isEmpty { state.isFlushDue = false }
            return state.ids.isEmpty
        }
    }
}
