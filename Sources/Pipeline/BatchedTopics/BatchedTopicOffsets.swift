import Fulfillment
import Kafka
import Logging
import NamesAndTimes
import Operations

/// A partition of a batched topic while it is assigned.
final class BatchedTopicPartition: ProgressOwner {
    var progress: PartitionProgress
    var read = ReadPosition()
    /// The offset at which this owner starts to read; nil if unknown.
    private let start: Int64?

    init(progress: PartitionProgress, start: Int64? = nil) { (self.progress, self.start) = (progress, start) }

    /// The offset of the next record to read; nil if unknown.
    var expected: Int64? { read.next ?? start }

    /// The start, until a record or the log's end comes; nil after that, or if the start is unknown.
    var firstExpected: Int64? { read.next == nil ? start : nil }

    /// The offset before which the log needs no more work; nil if unknown. See `IntakeGate.reached`.
    var reached: Int64? { read.reached(decided: progress.position) }
}

/// The offsets of a batched topic. `PartitionProgress` decides up to which offset the loop commits, as for submissions.
/// If `PartitionProgress` finds that decisions may be lost, the loop leaves the group and joins it again. Only the
/// loop's thread uses this object.
final class BatchedTopicOffsets {
    let checkpointer: OffsetCheckpointer
    let metrics: ReceiptdMetrics
    let logger: Logger
    private(set) var partitions: [TopicPartition: BatchedTopicPartition] = [:]
    private var gauges: PartitionGauges
    /// Decides which records to isolate, from the metadata of the partitions' commits.
    var isolation = CrashIsolation()
    /// By partition, the offset of the record that this process isolated and did not finish. The process is alive, so
    /// the record has not killed it.
    var isolatedHere: [TopicPartition: Int64] = [:]
    private var nextLook = 0.0
    /// True if the loop should leave the group and join it again.
    private(set) var mustRejoin = false
    /// True if the broker did not answer the last commit in time.
    private(set) var isCommitUnanswered = false

    init(checkpointer: OffsetCheckpointer, metrics: ReceiptdMetrics, logger: Logger) {
        self.checkpointer = checkpointer
        self.metrics = metrics
        self.logger = logger
        gauges = PartitionGauges(lag: metrics.consumerLag)
    }

    var all: [TopicPartition] { Array(partitions.keys) }

    func isAssigned(_ partition: TopicPartition) -> Bool { partitions[partition] != nil }

    func next(of partition: TopicPartition) -> Int64? { partitions[partition]?.reached }

    var readings: [TopicPartition: UnreadableBatchWatch.Reading] {
        partitions.mapValues { UnreadableBatchWatch.Reading(next: $0.reached, mayCome: true) }
    }

    /// Resets the state for a new consumer.
    func begin() { (mustRejoin, isCommitUnanswered) = (false, false) }

    func rejoin() { mustRejoin = true }

    private func rejoin(_ restart: PartitionProgress.Restart) {
        if !mustRejoin {
            logger.warning(
                "the worker reads a topic again", [.topic: "\(checkpointer.topic)", .reason: "\(restart.rawValue)"])
        }
        mustRejoin = true
    }
}

// MARK: - Rebalance

extension BatchedTopicOffsets {
    /// Takes partitions over, within `poll` and before librdkafka fetches. Returns the start of each partition that has
    /// a committed offset.
    /// - Parameter isStopping: returns true if the loop stops and will fetch nothing. This function then does not query
    ///   the database.
    func assigned(
        _ assigned: [TopicPartition], _ consumer: KafkaConsumer, isStopping: () -> Bool
    ) -> [TopicPartition: Int64] {
        gauges.assign(assigned.map { ($0.topic, $0.partition) })
        logger.info(
            "partitions of a topic assigned",
            [.topic: "\(checkpointer.topic)", .count: .stringConvertible(assigned.count)])
        guard !assigned.isEmpty else { return [:] }
        // Without the committed offsets or the database the loop cannot work. So it leaves the group, and joins it
        // again later.
        guard
            let committed = try? consumer.committedMarks(
                assigned, timeoutMilliseconds: BatchedTopicLimits.committedMilliseconds), !isStopping(),
            let stored = checkpointer.read(assigned, seconds: PipelineLimits.durableReadSeconds),
            keepLost(committed, stored)
        else {
            mustRejoin = true
            return [:]
        }
        nextLook = WallClock.monotonicSeconds
        // A new group starts at the earliest record. The worker checkpoints this start too. Otherwise a database that
        // lost the row would look like a database that never had the row.
        let new = assigned.filter { committed[$0] == nil }
        let ends =
            new.isEmpty || isStopping()
            ? nil : try? consumer.watermarks(new, timeoutMilliseconds: BatchedTopicLimits.watermarkMilliseconds)
        var starts: [TopicPartition: Int64] = [:]
        for partition in assigned {
            let mark = committed[partition]
            let row = stored.checkpoints[partition.partition]
            var start: Int64?
            if let mark {
                let found = PartitionProgress.start(committed: mark.offset, row: .some(row), log: nil)
                starts[partition] = found
                if found < mark.offset {
                    metrics.databaseFellBack(
                        """
                        the database lacks the results of records below the committed offset: the worker reads these \
                        records again
                        """,
                        partition, from: mark.offset, to: found, logger)
                }
                start = found
            } else {
                start = ends?[partition]?.low
            }
            inherit(partition, mark, stored)
            partitions[partition] = BatchedTopicPartition(
                progress: PartitionProgress(
                    start: start, committed: mark, row: .some(row), writer: .random(in: 1...(.max))),
                start: start)
        }
        return starts
    }

    /// Stores the offsets before which the database may have lost decisions on this topic. Some of these decisions may
    /// be about subscriptions. Call this before the loop commits a lower offset in Kafka, because afterwards no owner
    /// can see the loss. Returns false if the database does not answer.
    private func keepLost(_ committed: [TopicPartition: CommitMark], _ stored: StoredCheckpoints) -> Bool {
        let lost = committed.filter { partition, mark in
            let row = stored.checkpoints[partition.partition]
            return PartitionProgress.start(committed: mark.offset, row: .some(row), log: nil) < mark.offset
        }
        guard !lost.isEmpty else { return true }
        return checkpointer.keepDecidedAgain(lost.mapValues(\.offset), seconds: PipelineLimits.durableReadSeconds)
    }

    func forget(_ revoked: [TopicPartition], lost: Bool) {
        for partition in revoked {
            partitions[partition] = nil
            isolation.forget(partition)
            gauges.revoke(topic: partition.topic, partition: partition.partition, isLost: lost)
        }
    }
}

// MARK: - Progress

extension BatchedTopicOffsets {
    /// Notes that a record was polled. Reports earlier records that Kafka deleted unread.
    func came(_ record: ConsumerRecord, _ consumer: KafkaConsumer) {
        lookForDeleted(before: record.offset, in: record.topicPartition, consumer)
        partitions[record.topicPartition]?.read.came(to: record.offset + 1)
    }

    /// Notes the log's present end, as librdkafka reports it. Reports earlier records that Kafka deleted unread.
    func ended(_ partition: TopicPartition, at offset: Int64, _ consumer: KafkaConsumer) {
        lookForDeleted(before: offset, in: partition, consumer)
        partitions[partition]?.read.ended(at: offset)
    }

    /// Admits and finishes the batch's records, because their effects are durable. Records come in the order of their
    /// offsets, and the loop finishes one batch before the next. So every earlier record is already finished.
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

    /// Notes that the broker acknowledged the dead letter of an unreadable batch.
    func steppedOver(_ batch: UnreadableBatches.Found, of partition: TopicPartition) {
        guard let state = partitions[partition] else { return }
        state.progress.admit(batch.first)
        state.progress.stepOver(to: batch.last)
        state.read.came(to: batch.last + 1)
        let epoch = state.progress.epoch
        if let restart = state.progress.finish(batch.first, epoch: epoch, decidedIn: nil) { rejoin(restart) }
    }

    /// Commits, and compares the checkpoints with the database, every `historyCheckSeconds`. So even if no record
    /// comes, the worker checkpoints a partition's start, and notices that the database fell back.
    func lookAtCheckpoints(_ consumer: KafkaConsumer) {
        let now = WallClock.monotonicSeconds
        guard now >= nextLook, !partitions.isEmpty else { return }
        nextLook = now + PipelineLimits.historyCheckSeconds
        commit(all, consumer)
        guard let look = checkpointer.beginLook(partitions) else { return }
        let found = checkpointer.finish(look, seconds: PipelineLimits.finalCheckpointSeconds)
        if let found, let restart = checkpointer.end(look, found, partitions) { rejoin(restart) }
    }

    /// Checkpoints and commits the finished records of these partitions. If that fails, the next owner reads the
    /// records again, which does no harm.
    ///
    /// The loop commits before each batch, after each portion of a batch, when partitions are revoked, and every
    /// `historyCheckSeconds`. It also commits after it stepped over an unreadable batch.
    func commit(_ candidates: [TopicPartition], _ consumer: KafkaConsumer) {
        guard !mustRejoin else { return }
        let owners = partitions.filter { candidates.contains($0.key) }
        if let restart = checkpointer.writeNow(owners, seconds: PipelineLimits.finalCheckpointSeconds) {
            return rejoin(restart)
        }
        let due = owners.commitsDue(of: candidates, isolation)
        guard !due.isEmpty else { return }
        do throws(KafkaError) {
            try owners.commit(due, by: consumer, seconds: BatchedTopicLimits.commitSeconds)
            isCommitUnanswered = false
            checkpointer.failures.recovered(.commits)
        } catch {
            isCommitUnanswered = error.code == KafkaError.Code.timedOut
            checkpointer.failures.report(error, of: .commits)
        }
    }

    func reportLag(_ consumer: KafkaConsumer) { partitions.reportLag(consumer, gauges) { $1.reached } }
}
