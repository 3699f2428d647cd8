import Fulfillment
import Identifiers
import TestSupport

/// The ledger in memory, with a record of what was asked of it.
final class ObservedLedger: PurchaseLedger, UnpublishedEvents {
    private struct State {
        var recorded: [PendingDecision] = []
        var published: Set<NameBasedUUID> = []
        var failures = 0
    }

    let database: InMemoryLedger
    private let state: Shared<State>

    init(changes: ChangeSignal) {
        database = InMemoryLedger(changes: changes)
        state = Shared(State(), changes)
    }

    func recollect(_ query: RecallQuery) async throws(LedgerClosed) -> Durable<Recollection> {
        try await database.recollect(query)
    }

    func settle(_ decision: PendingDecision) async throws(LedgerClosed) -> Durable<RecordedOutcome> {
        state.update { $0.recorded.append(decision) }
        return try await database.settle(decision)
    }

    func published(_ eventIDs: [NameBasedUUID]) {
        state.update { $0.published.formUnion(eventIDs) }
        database.published(eventIDs)
    }

    /// The submissions of a player in the order of their decisions.
    func decided(_ player: PlayerID) -> [String] {
        state.read { $0.recorded.filter { $0.submission.playerID == player }.map(\.submission.submissionID.text) }
    }

    /// Of a player's decisions, in their order: whether the database may have lost an earlier one.
    func decidedAgain(_ player: String) -> [Bool] {
        state.read { $0.recorded.filter { $0.submission.playerID.text == player }.map(\.isDecidedAgain) }
    }

    func isPublished(_ event: OutcomeEvent) -> Bool { state.read { $0.published.contains(event.eventID) } }
    var pendingCount: Int { database.pendingEvents.count }

    /// What a partition's last owner left unpublished, and what its highest decided offset was.
    func owe(_ partition: Int32, _ events: [OutcomeEvent], highest: Int64) {
        database.owe(events, topic: Sample.submissions, partition: partition, highestOffset: highest)
    }

    /// What a replica that died a minute ago left unpublished, in a partition that nobody has.
    func orphan(_ events: [OutcomeEvent]) {
        database.owe(events, topic: "a topic of before", partition: 0, highestOffset: 0, ageSeconds: 60)
    }

    /// The next reads of the outbox fail.
    func failNextReads(_ count: Int) { state.update { $0.failures = count } }

    private struct OutOfReach: Error {}

    func orphans(limit: Int) async throws -> [UnpublishedEvent] { try await database.orphans(limit: limit) }

    func unpublished(topic: String, partition: Int32, limit: Int) async throws -> [UnpublishedEvent] {
        try await database.unpublished(topic: topic, partition: partition, limit: limit)
    }

    func highestDecidedOffset(topic: String, partition: Int32) async throws -> Int64? {
        try state.update { state in
            guard state.failures > 0 else { return }
            state.failures -= 1
            throw OutOfReach()
        }
        return try await database.highestDecidedOffset(topic: topic, partition: partition)
    }
}
