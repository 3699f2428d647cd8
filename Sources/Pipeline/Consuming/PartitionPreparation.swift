import Fulfillment
import Kafka
import Logging

/// Readies newly assigned partitions beside the consumer's thread, before their first records begin.
struct PartitionPreparation: Sendable {
    let unpublished: any UnpublishedEvents
    let worker: SubmissionWorker
    let checkpointer: OffsetCheckpointer
    let claims: ClaimRestoration
    let inbox: Inbox
    let logger: Logger

    /// Publishes what the partition's last owner decided and may not have published, before anything new of it: so
    /// that order per player survives a fail-over. Tries until the database answers or the partition is gone.
    /// - Parameter entering: of `enterClaims`.
    func start(
        _ partition: TopicPartition, assignment: UInt64, behind entering: Task<Void, Never>
    ) -> Task<Void, Never> {
        let relay = OutboxRelay(
            unpublished: unpublished, publisher: worker.publisher, ledger: worker.ledger, metrics: worker.metrics,
            logger: logger)
        return Task { [inbox, checkpointer, claims] in
            await entering.value
            // Given up for a later takeover, which this partition may have outlived.
            if entering.isCancelled { await claims.finish() }
            guard let highest = await relay.publishAll(of: partition) else { return }
            // Again after the sweep: by it the database has answered, which it may not have done before.
            while !Task.isCancelled {
                let stored = await checkpointer.reporting {
                    try await checkpointer.store.read(topic: partition.topic, partitions: [partition.partition])
                }
                if let stored {
                    return inbox.post(
                        .prepared(partition, assignment: assignment, highestDecided: highest.offset, stored))
                }
                await BlockingWork.pause(seconds: PipelineLimits.publishRetrySeconds)
            }
        }
    }

    /// One look for all partitions of a takeover: the database knows by then what it lost.
    func enterClaims() -> Task<Void, Never> {
        Task { [claims] in await claims.finish() }
    }

    /// Waits for lost claims: a leased row may be of a purchase whose owner is lost. Nothing of it begins before they
    /// are entered again.
    func tell(_ entering: Task<Void, Never>, takeover: Int) {
        Task { [inbox] in
            await entering.value
            if !entering.isCancelled { inbox.post(.claimsAreEntered(takeover: takeover)) }
        }
    }
}
