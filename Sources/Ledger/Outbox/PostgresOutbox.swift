import Fulfillment

/// The ledger's outbox for the pipeline. Every function throws a `PostgresError`.
public struct PostgresOutbox: UnpublishedEvents {
    /// The seconds that a replica has for publishing leased events.
    private static let leaseSeconds = 30.0

    private let ledger: PostgresLedger
    private let sweeper: OutboxSweeper
    private let orphanSeconds: Double

    /// - Parameter orphanSeconds: the age in seconds from which an event counts as an orphan. The worker that decided a
    ///   younger event is probably still publishing it.
    public init(ledger: PostgresLedger, sweeper: OutboxSweeper, orphanSeconds: Double = 10) {
        self.ledger = ledger
        self.sweeper = sweeper
        self.orphanSeconds = orphanSeconds
    }

    public func orphans(limit: Int) async throws -> [UnpublishedEvent] {
        try await sweeper.leaseOrphans(
            olderThanSeconds: orphanSeconds, limit: limit, leaseSeconds: Self.leaseSeconds
        ).map(\.unpublished)
    }

    public func handedOver(limit: Int) async throws -> [UnpublishedEvent] {
        try await sweeper.leaseHandedOver(limit: limit, leaseSeconds: Self.leaseSeconds).map(\.unpublished)
    }

    public func unpublished(topic: String, partition: Int32, limit: Int) async throws -> [UnpublishedEvent] {
        try await sweeper.leaseUnpublished(topic: topic, partition: partition, limit: limit).map(\.unpublished)
    }

    public func highestDecidedOffset(topic: String, partition: Int32) async throws -> Int64? {
        try await ledger.decidedOffsets(topic: topic, partitions: [partition])[partition]
    }
}

extension OrphanEvent {
    fileprivate var unpublished: UnpublishedEvent { UnpublishedEvent(event: event, traceparent: traceparent) }
}
