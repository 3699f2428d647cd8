import Fulfillment
import Kafka
import Logging
import Operations

/// Publishes events of the outbox that their worker has not published.
struct OutboxRelay: Sendable {
    let unpublished: any UnpublishedEvents
    let publisher: OutcomePublisher
    let ledger: any PurchaseLedger
    let metrics: PipelineMetrics
    let logger: Logger

    struct Published {
        /// The highest offset ever decided in the partition; nil if there is none.
        let offset: Int64?
    }

    /// Publishes all events that a partition owes. Returns nil once the publisher is closed or the task is cancelled.
    func publishAll(of partition: TopicPartition) async -> Published? {
        var seconds = 0.1
        while !Task.isCancelled {
            do {
                let highest = try await unpublished.highestDecidedOffset(
                    topic: partition.topic, partition: partition.partition)
                // All decisions up to there are also in the outbox.
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

    /// Runs one round over the orphans of dead replicas. Returns how many events were published.
    func publishOrphans() async throws -> Int {
        let events = try await unpublished.orphans(limit: PipelineLimits.orphanBatch)
        try await publish(events)
        return events.count
    }

    /// Runs one round over operators' decisions. Returns how many events were published.
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
        // Nobody else publishes an operator's decision.
        for event in events where published.contains(event.event.eventID) { metrics.published(event.event) }
    }

    /// The most events of a partition at a time. Its owner has at most its window in the outbox; the rest is left to
    /// those who publish orphans.
    private static let partitionLimit = 10_000
}
