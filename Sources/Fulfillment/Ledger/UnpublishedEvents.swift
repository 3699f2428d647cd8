/// An event in the outbox that Kafka has not acknowledged yet.
public struct UnpublishedEvent: Sendable {
    public let event: OutcomeEvent
    public let traceparent: String?

    public init(event: OutcomeEvent, traceparent: String?) {
        self.event = event
        self.traceparent = traceparent
    }
}

/// The store of decided events that are not published yet. A partition's owner and the sweeper lease events from the
/// store.
public protocol UnpublishedEvents: Sendable {
    /// Leases up to `limit` events whose worker has probably died, oldest first.
    func orphans(limit: Int) async throws -> [UnpublishedEvent]

    /// Leases up to `limit` events that an operator's command decided, of any age, oldest first.
    func handedOver(limit: Int) async throws -> [UnpublishedEvent]

    /// Leases up to `limit` unpublished events of one partition, oldest first, no matter which replica decided or
    /// leased them.
    func unpublished(topic: String, partition: Int32, limit: Int) async throws -> [UnpublishedEvent]

    /// Returns the highest offset that workers ever decided in the partition; nil if there is none. A record above this
    /// offset has no answer yet, unless a replica that has lost the partition is deciding the record just now. In that
    /// case the ledger's insert conflicts.
    func highestDecidedOffset(topic: String, partition: Int32) async throws -> Int64?
}
