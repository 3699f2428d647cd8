/// An event in the outbox that Kafka has not acknowledged yet.
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
    /// Returns events whose worker has probably died, oldest first, leased to the caller for a while.
    func orphans(limit: Int) async throws -> [UnpublishedEvent]

    /// Returns events that no worker decided, of any age, oldest first, leased to the caller for a while.
    func handedOver(limit: Int) async throws -> [UnpublishedEvent]

    /// Returns the unpublished events of one partition, oldest first, whoever decided them.
    func unpublished(topic: String, partition: Int32, limit: Int) async throws -> [UnpublishedEvent]

    /// Returns the highest offset that was ever decided in the partition; nil if none was. A record above it has no
    /// answer yet, unless a replica that has lost the partition is still deciding. The ledger's insert notices that.
    func highestDecidedOffset(topic: String, partition: Int32) async throws -> Int64?
}
