import Fulfillment
import Kafka
import Logging
import Operations

/// A partition of the notifications topic while it is assigned.
final class NotificationPartition: ProgressOwner {
    var progress: PartitionProgress

    init(progress: PartitionProgress) { self.progress = progress }
}

/// Offsets, by the same rules as the main loop's: `PartitionProgress` decides, and whatever says that decisions may be lost
/// lets the loop join the group again.
extension NotificationLoop {
    /// Within `poll`, before fetching begins. What is not returned starts where Kafka's commit says.
    func assigned(_ assigned: [TopicPartition], _ consumer: KafkaConsumer) -> [TopicPartition: Int64] {
        gauges.assign(assigned.map { ($0.topic, $0.partition) })
        logger.info(
            "partitions of notifications assigned",
            [.topic: "\(worker.source.topic)", .count: .stringConvertible(assigned.count)])
        guard !assigned.isEmpty else { return [:] }
        // Without the database nothing could be done either.
        guard
            let committed = try? consumer.committedMarks(
                assigned, timeoutMilliseconds: NotificationLimits.committedMilliseconds),
            let stored = checkpointer.read(assigned, seconds: PipelineLimits.durableReadSeconds)
        else {
            mustRejoin = true
            return [:]
        }
        nextLook = WallClock.monotonicSeconds
        let deadline = WallClock.monotonicSeconds + PipelineLimits.offsetCheckSeconds
        var starts: [TopicPartition: Int64] = [:]
        for partition in assigned {
            let mark = committed[partition]
            let row = stored.checkpoints[partition.partition]
            // A new group begins at the earliest record. That is checkpointed too: a database that never heard of the
            // partition could not be told from one that has forgotten it.
            var start = mark?.offset
            if mark == nil, WallClock.monotonicSeconds < deadline {
                start = try? consumer.watermarks(
                    partition, timeoutMilliseconds: NotificationLimits.watermarkMilliseconds
                ).low
            }
            // Nothing is committed without a checkpoint: where there is none, the database is from before the first.
            let checkpoint = row?.nextOffset ?? 0
            if let mark, checkpoint < mark.offset {
                start = checkpoint
                starts[partition] = checkpoint
                warnOfFallback(partition, from: mark.offset, to: checkpoint)
            }
            partitions[partition] = NotificationPartition(
                progress: PartitionProgress(
                    start: start, committed: mark, row: .some(row), writer: .random(in: 1...(.max))))
        }
        return starts
    }

    private func warnOfFallback(_ partition: TopicPartition, from committed: Int64, to start: Int64) {
        worker.metrics.all.databaseFallbacks.increment()
        logger.warning(
            "the database lacks what Kafka has committed: notifications are read again",
            [
                .topic: "\(partition.topic)", .partition: .stringConvertible(partition.partition),
                .offset: .stringConvertible(start), .count: .stringConvertible(committed - start),
            ])
    }

    /// Within `poll` or `close`: the last place to commit.
    func revoked(_ partitions: [TopicPartition], lost: Bool, _ consumer: KafkaConsumer) {
        if !lost { commit(consumer, partitions) }
        forget(partitions, lost: lost)
    }

    func forget(_ revoked: [TopicPartition], lost: Bool) {
        for partition in revoked {
            partitions[partition] = nil
            unreadable.forget(partition)
            gauges.revoke(topic: partition.topic, partition: partition.partition, isLost: lost)
        }
    }

    /// The batch is durable. Records come in the order of their offsets, and one batch is done before the next.
    func finished(_ batch: [ConsumerRecord], decidedIn history: DatabaseHistory?) {
        for record in batch {
            guard let partition = partitions[record.topicPartition] else { continue }
            _ = partition.progress.beginsNewEpoch(at: record.offset)
            partition.progress.admit(record.offset)
            let epoch = partition.progress.epoch
            if let restart = partition.progress.finish(record.offset, epoch: epoch, decidedIn: history) {
                rejoin(restart)
            }
        }
    }

    /// Now and then also where nothing comes: a start that has no checkpoint gets it, and a database that fell back is
    /// noticed.
    func lookAtCheckpoints(_ consumer: KafkaConsumer) {
        let now = WallClock.monotonicSeconds
        guard now >= nextLook, !partitions.isEmpty else { return }
        nextLook = now + PipelineLimits.historyCheckSeconds
        commit(consumer, Array(partitions.keys))
        guard let look = checkpointer.beginLook(partitions) else { return }
        let found = checkpointer.finish(look, seconds: PipelineLimits.finalCheckpointSeconds)
        if let found, let restart = checkpointer.end(look, found, partitions) { rejoin(restart) }
    }

    /// Checkpoints and commits what is done. What cannot be comes again to whoever is next, and changes nothing then.
    func commit(_ consumer: KafkaConsumer, _ candidates: [TopicPartition]) {
        guard !mustRejoin else { return }
        let owners = partitions.filter { candidates.contains($0.key) }
        if let restart = checkpointer.writeNow(owners, seconds: PipelineLimits.finalCheckpointSeconds) {
            return rejoin(restart)
        }
        let due = owners.compactMapValues { $0.progress.commitDue { _ in "" } }
        guard !due.isEmpty else { return }
        do throws(KafkaError) {
            let milliseconds = Int32(NotificationLimits.commitSeconds * 1000)
            try consumer.commit(due, timeoutMilliseconds: milliseconds)
            for (partition, mark) in due { owners[partition]?.progress.commitSucceeded(mark) }
            isCommitUnanswered = false
            health.failures.recovered(.commits)
        } catch {
            isCommitUnanswered = error.code == KafkaError.Code.timedOut
            health.failures.report(error, of: .commits)
        }
    }

    func rejoin(_ restart: PartitionProgress.Restart) {
        if !mustRejoin { logger.warning("notifications are read again", [.reason: "\(restart.rawValue)"]) }
        mustRejoin = true
    }
}
