import Fulfillment
import NamesAndTimes

/// A ledger in memory that records the decisions and acknowledgements that it gets.
public final class ObservedLedger: PurchaseLedger, UnpublishedEvents {
    private struct State {
        var recorded: [PendingDecision] = []
        var published: Set<NameBasedUUID> = []
        var failures = 0
        var fallBacks = 0
        var tell: (@Sendable () -> Void)?
    }

    public let database: InMemoryLedger
    private let state: Shared<State>

    /// - Parameter changes: the signal that the test's doubles share.
    public init(changes: ChangeSignal = ChangeSignal()) {
        database = InMemoryLedger(changes: changes)
        state = Shared(State(), changes)
    }

    public func recollect(_ query: RecallQuery) async throws(LedgerClosed) -> Durable<Recollection> {
        try await database.recollect(query)
    }

    public func settle(_ decision: PendingDecision) async throws(LedgerClosed) -> Durable<RecordedOutcome> {
        state.update { $0.recorded.append(decision) }
        return try await database.settle(decision)
    }

    public func published(_ eventIDs: [NameBasedUUID]) {
        state.update { $0.published.formUnion(eventIDs) }
        database.published(eventIDs)
    }

    public func watchFallBacks(_ tell: @escaping @Sendable () -> Void) { state.update { $0.tell = tell } }
    /// True if a worker's loop runs, so that `fallBack` reaches the loop.
    public var isWatched: Bool { state.read { $0.tell != nil } }
    public var fallBackCount: Int { state.read { $0.fallBacks } }

    /// Reports to the worker that the database lost data, as a new connection does.
    public func fallBack() {
        let tell = state.update { state in
            state.fallBacks += 1
            return state.tell
        }
        tell?()
    }

    /// Returns the submissions of a player in the order of their decisions.
    public func decided(_ player: PlayerID) -> [String] {
        state.read { $0.recorded.filter { $0.submission.playerID == player }.map(\.submission.submissionID.text) }
    }

    /// Returns one value for each decision about a player, in order. The value is true if the database may have lost an
    /// earlier decision on the same submission.
    public func decidedAgain(_ player: String) -> [Bool] {
        state.read { $0.recorded.filter { $0.submission.playerID.text == player }.map(\.isDecidedAgain) }
    }

    public func isPublished(_ event: OutcomeEvent) -> Bool { state.read { $0.published.contains(event.eventID) } }
    public var pendingCount: Int { database.pendingEvents.count }

    /// Makes the next `count` reads of the outbox fail.
    public func failNextReads(_ count: Int) { state.update { $0.failures = count } }

    private struct OutOfReach: Error {}

    public func orphans(limit: Int) async throws -> [UnpublishedEvent] { try await database.orphans(limit: limit) }

    public func handedOver(limit: Int) async throws -> [UnpublishedEvent] {
        try await database.handedOver(limit: limit)
    }

    public func unpublished(topic: String, partition: Int32, limit: Int) async throws -> [UnpublishedEvent] {
        try await database.unpublished(topic: topic, partition: partition, limit: limit)
    }

    public func highestDecidedOffset(topic: String, partition: Int32) async throws -> Int64? {
        try state.update { state in
            guard state.failures > 0 else { return }
            state.failures -= 1
            throw OutOfReach()
        }
        return try await database.highestDecidedOffset(topic: topic, partition: partition)
    }
}
