import Fulfillment
import Ledger

/// The ledger's outbox, as the pipeline reads it.
struct LedgerOutbox: UnpublishedEvents {
    /// An event younger than this is most likely on its way from the worker that decided it.
    private static let orphanSeconds = 10.0
    /// How long a sweeping replica has for publishing what it took.
    private static let leaseSeconds = 30.0

    let ledger: PostgresLedger
    let sweeper: OutboxSweeper

    func orphans(limit: Int) async throws -> [UnpublishedEvent] {
        try await sweeper.leaseOrphans(
            olderThanSeconds: Self.orphanSeconds, limit: limit, leaseSeconds: Self.leaseSeconds
        ).map(\.unpublished)
    }

    func unpublished(topic: String, partition: Int32, limit: Int) async throws -> [UnpublishedEvent] {
        try await sweeper.leaseUnpublished(topic: topic, partition: partition, limit: limit).map(\.unpublished)
    }

    func highestDecidedOffset(topic: String, partition: Int32) async throws -> Int64? {
        try await ledger.decidedOffsets(topic: topic, partitions: [partition])[partition]
    }
}

extension OrphanEvent {
    fileprivate var unpublished: UnpublishedEvent { UnpublishedEvent(event: event, traceparent: traceparent) }
}
