import Fulfillment
import Kafka
import Logging

/// Prepares newly assigned partitions in tasks, before their first records begin.
struct PartitionPreparation: Sendable {
    let unpublished: any UnpublishedEvents
    let worker: SubmissionWorker
    let checkpointer: OffsetCheckpointer
    let claims: ClaimRestoration
    let inbox: Inbox
    let logger: Logger

    /// Prepares one partition. Before any new record begins, the task publishes decided events that an earlier owner
    /// may not have published. So each player's events keep their order after a fail-over. Then the task reads the
    /// checkpoint and posts `prepared`. The task retries until the database answers or the partition is revoked.
    /// - Parameter entering: the task of `enterClaims`, which must end before this task publishes events.
    func start(
        _ partition: TopicPartition, assignment: UInt64, behind entering: Task<Void, Never>
    ) -> Task<Void, Never> {
        let relay = OutboxRelay(
            unpublished: unpublished, publisher: worker.publisher, ledger: worker.ledger, metrics: worker.metrics,
            logger: logger)
        return Task { [inbox, checkpointer, claims] in
            await entering.value
            // A later takeover cancels `entering`, but this partition may still be assigned, and needs the claims.
            if entering.isCancelled { await claims.finish() }
            guard let highest = await relay.publishAll(of: partition) else { return }
            // The checkpoint is read again here, because the database may not have answered at the takeover.
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

    /// Starts to restore lost claims (the owners of purchases), once for all partitions of a takeover. Call it after
    /// the takeover has stored which decisions may be lost.
    func enterClaims() -> Task<Void, Never> {
        Task { [claims] in await claims.finish() }
    }

    /// Posts `claimsAreEntered` once the lost claims are restored. No loop behind the lease gate leases rows before,
    /// because the database may have lost the claim of a row's purchase.
    func tell(_ entering: Task<Void, Never>, takeover: Int) {
        Task { [inbox] in
            await entering.value
            if !entering.isCancelled { inbox.post(.claimsAreEntered(takeover: takeover)) }
        }
    }
}
