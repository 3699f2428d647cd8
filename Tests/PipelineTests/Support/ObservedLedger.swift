import Fulfillment
import Ledger
import Synchronization

/// The ledger in memory, with an outbox that is read as the database's is, and a record of what was asked of it.
final class ObservedLedger: PurchaseLedger, UnpublishedEvents {
    private struct State {
        var highest: [Int32: Int64] = [:]
        var recorded: [PendingDecision] = []
        var published: Set<NameBasedUUID> = []
        var owed: [Int32: [UnpublishedEvent]] = [:]
        var orphans: [UnpublishedEvent] = []
        var failures = 0
    }

    private let ledger = InMemoryLedger()
    private let state = Mutex(State())

    func recollect(_ query: RecallQuery) async throws(LedgerClosed) -> Durable<Recollection> {
        try await ledger.recollect(query)
    }

    func settle(_ decision: PendingDecision) async throws(LedgerClosed) -> Durable<RecordedOutcome> {
        state.withLock { state in
            state.recorded.append(decision)
            let position = decision.position
            state.highest[position.partition] = max(position.offset, state.highest[position.partition] ?? -1)
        }
        return try await ledger.settle(decision)
    }

    func published(_ eventIDs: [NameBasedUUID]) {
        state.withLock { $0.published.formUnion(eventIDs) }
        ledger.published(eventIDs)
    }

    /// The submissions of a player in the order of their decisions.
    func decided(_ player: PlayerID) -> [String] {
        state.withLock { $0.recorded.filter { $0.submission.playerID == player }.map(\.submission.submissionID.text) }
    }

    func isPublished(_ event: OutcomeEvent) -> Bool { state.withLock { $0.published.contains(event.eventID) } }
    var pendingCount: Int { ledger.pendingEvents.count }

    /// What a partition's last owner left unpublished, and what its highest decided offset was.
    func owe(_ partition: Int32, _ events: [OutcomeEvent], highest: Int64) {
        state.withLock { state in
            state.owed[partition] = events.map { UnpublishedEvent(event: $0, traceparent: nil) }
            state.highest[partition] = max(highest, state.highest[partition] ?? -1)
        }
    }

    func orphan(_ events: [OutcomeEvent]) {
        state.withLock { $0.orphans = events.map { UnpublishedEvent(event: $0, traceparent: nil) } }
    }

    /// The next reads of the outbox fail.
    func failNextReads(_ count: Int) { state.withLock { $0.failures = count } }

    private struct OutOfReach: Error {}

    func orphans(limit: Int) async throws -> [UnpublishedEvent] {
        state.withLock { state in
            defer { state.orphans = [] }
            return Array(state.orphans.prefix(limit))
        }
    }

    func unpublished(topic: String, partition: Int32, limit: Int) async throws -> [UnpublishedEvent] {
        state.withLock { state in
            (state.owed[partition] ?? []).filter { !state.published.contains($0.event.eventID) }
        }
    }

    func highestDecidedOffset(topic: String, partition: Int32) async throws -> Int64? {
        try state.withLock { state in
            if state.failures > 0 {
                state.failures -= 1
                throw OutOfReach()
            }
            return state.highest[partition]
        }
    }
}
