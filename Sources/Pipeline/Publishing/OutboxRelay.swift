import Fulfillment
import Kafka
import Logging
import Operations

/// Publishes the outbox's events that the deciding worker has not published.
struct OutboxRelay: Sendable {
    let unpublished: any UnpublishedEvents
    let publisher: OutcomePublisher
    let ledger: any PurchaseLedger
    let metrics: PipelineMetrics
    let logger: Logger

    struct Published {
        /// The highest offset that any owner decided in the partition; nil if there is none.
        let offset: Int64?
    }

    /// Publishes the partition's events that are still in the outbox. Returns nil when the publisher or the ledger is
    /// closed, or the task is cancelled.
    func publishAll(of partition: TopicPartition) async -> Published? {
        var seconds = 0.1
        while !Task.isCancelled {
            do {
                let highest = try await unpublished.highestDecidedOffset(
                    topic: partition.topic, partition: partition.partition)
                // The relay reads the outbox after it has read the offset. So it sees every unpublished decision up to
                // that offset.
                guard highest != nil else { return Published(offset: nil) }
                let events = try await unpublished.unpublished(
                    topic: partition.topic, partition: partition.partition, limit: Self.partitionLimit)
                publisher.failures.recovered(.outbox)
                try await publish(events)
                return Published(offset: highest)
            } catch is Abandoned {
                return nil
            } catch is LedgerClosed {
                return nil
            } catch {
                publisher.failures.report(error, of: .outbox)
                await BlockingWork.pause(seconds: seconds)
                seconds = min(seconds * 2, 2)
            }
        }
        return nil
    }

    /// Publishes one batch of events of dead replicas. Returns the number of events.
    func publishOrphans() async throws -> Int {
        let events = try await unpublished.orphans(limit: PipelineLimits.orphanBatch)
        try await publish(events)
        return events.count
    }

    /// Publishes one batch of events of operators' decisions. Returns the number of events.
    func publishHandedOver() async throws -> Int {
        let events = try await unpublished.handedOver(limit: PipelineLimits.orphanBatch)
        try await publish(events)
        return events.count
    }

    private func publish(_ events: [UnpublishedEvent]) async throws(Abandoned) {
        guard !events.isEmpty else { return }
        let acknowledged = try await publisher.publish(events)
        ledger.published(acknowledged)
        let published = Set(acknowledged)
        // The relay counts these events, because no other code counts an operator's decision.
        for event in events where published.contains(event.event.eventID) { metrics.published(event.event) }
    }

    /// The most events of a partition in one sweep. The partition's last owner left at most one window of events in the
    /// outbox. `publishOrphans` publishes the rest.
    private static let partitionLimit = 10_000
}
