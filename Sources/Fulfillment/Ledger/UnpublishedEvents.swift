/// An event in the outbox that nobody has acknowledged yet.
public struct UnpublishedEvent: Sendable {
    public let event: OutcomeEvent
    public let traceparent: String?

    public init(event: OutcomeEvent, traceparent: String?) {
        self.event = event
        self.traceparent = traceparent
    }
}

/// The decided events that are not published yet. A partition's owner and the sweeper read them.
public protocol UnpublishedEvents: Sendable {
    /// Events whose worker has probably died, oldest first, leased to the caller for a while.
    func orphans(limit: Int) async throws -> [UnpublishedEvent]

    /// Events that no worker decided and that wait for any: of any age, oldest first, leased to the caller for a while.
    func handedOver(limit: Int) async throws -> [UnpublishedEvent]

    /// All that one partition still owes, oldest first, whoever decided it.
    func unpublished(topic: String, partition: Int32, limit: Int) async throws -> [UnpublishedEvent]

    /// The highest offset that was ever decided in the partition, nil where none was. A record above it cannot have an
    /// answer yet, unless a replica that has lost the partition is still deciding: the ledger's insert finds that out.
    func highestDecidedOffset(topic: String, partition: Int32) async throws -> Int64?
}
