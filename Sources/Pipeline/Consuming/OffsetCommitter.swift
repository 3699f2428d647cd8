import Fulfillment
import Kafka
import Logging
import NamesAndTimes
import Operations

/// Carries out the decisions of `PartitionProgress`: writes checkpoints to the database, then commits their offsets in
/// Kafka.
///
/// The committer writes checkpoints each second in the background, and commits each second and after each checkpoint.
/// It also commits the first offset of a new assignment, and finished records before a partition is revoked. Only the
/// consumer's thread uses the committer.
final class OffsetCommitter {
    private let assignment: PartitionAssignment
    private let intake: RecordIntake
    private let checkpointer: OffsetCheckpointer
    private let inbox: Inbox
    private let failures: Failures
    private let logger: Logger

    private var nextRound = 0.0
    private var nextLook = 0.0
    private var checkpointsUnderWay = 0
    /// True if checkpoints have ended since the worker last tried to send commits.
    private var hasNewCheckpoints = false
    /// The time of the commit that has no result yet, in monotonic seconds; nil if every commit has its result.
    private var commitSentAt: Double?

    init(
        assignment: PartitionAssignment, intake: RecordIntake, checkpointer: OffsetCheckpointer, inbox: Inbox,
        logger: Logger
    ) {
        self.assignment = assignment
        self.intake = intake
        self.checkpointer = checkpointer
        self.inbox = inbox
        self.logger = logger
        failures = checkpointer.failures
    }

    var isCommitUnderWay: Bool { commitSentAt != nil }

    /// Starts with a new consumer. A commit of the last consumer no longer counts as under way.
    func begin(_ consumer: KafkaConsumer) {
        commitSentAt = nil
        consumer.onCommit = { [unowned self] result in self.committed(result) }
    }

    /// Writes checkpoints and sends commits that are due. Call it at each turn of the loop.
    func turn(_ consumer: KafkaConsumer) {
        let now = WallClock.monotonicSeconds
        if now >= nextRound {
            nextRound = now + PipelineLimits.commitSeconds
            checkpointInBackground(now)
            sendCommits(consumer)
        } else if hasNewCheckpoints {
            sendCommits(consumer)
        }
    }
}

// MARK: - In the background

extension OffsetCommitter {
    /// True while checkpoints that were sent in the background have no result.
    var isCheckpointing: Bool { checkpointsUnderWay > 0 }

    private func checkpointInBackground(_ now: Double) {
        guard !isCheckpointing else { return }
        let batches = checkpointer.begin(assignment.partitions)
        checkpointsUnderWay = batches.count
        for batch in batches {
            Task { [inbox, checkpointer] in
                let result = await checkpointer.reporting { try await batch.write(to: checkpointer.store) }
                inbox.post(.checkpointed(batch, result))
            }
        }
        // While no record comes, only this comparison shows that the database fell back to an earlier state.
        guard now >= nextLook, let look = checkpointer.beginLook(assignment.partitions) else { return }
        nextLook = now + PipelineLimits.historyCheckSeconds
        Task { [inbox, checkpointer] in
            let found = await checkpointer.reporting { try await look.read(from: checkpointer.store) }
            if let found { inbox.post(.looked(look, found)) }
        }
    }

    func checkpointed(_ batch: CheckpointBatch, _ result: CheckpointResult?) {
        checkpointsUnderWay -= 1
        if let restart = checkpointer.end(batch, result, assignment.partitions) { return assignment.restart(restart) }
        hasNewCheckpoints = true
    }

    func looked(_ look: CheckpointLook, _ found: StoredCheckpoints) {
        assignment.restart(checkpointer.end(look, found, assignment.partitions))
    }

    /// Sends the commits that are due, unless a commit is under way. librdkafka retries a refused commit by itself, and
    /// its retry could arrive after a later commit.
    /// - Parameter isStart: true within the callback that assigns partitions.
    private func sendCommits(_ consumer: KafkaConsumer, isStart: Bool = false) {
        hasNewCheckpoints = false
        let now = WallClock.monotonicSeconds
        if let commitSentAt, now - commitSentAt < PipelineLimits.commitPatienceSeconds { return }
        var due = assignment.commitsDue(of: assignment.all)
            .filter { $0.value != assignment[$0.key]?.progress.pendingCommit }
        // `PlantedCommits` adds a test's faulty commits. At a start it adds none, because the new owner's own commit
        // would hide the fault.
        if !isStart { PlantedCommits.add(to: &due, besides: assignment.all) }
        guard !due.isEmpty else { return }
        do throws(KafkaError) {
            try consumer.commit(due)
            commitSentAt = now
            for (partition, mark) in due { assignment[partition]?.progress.commitWasSent(mark) }
        } catch {
            intake.startsAreCommitted(Array(due.keys))
            failures.report(error, of: .commits)
        }
    }

    /// Handles the result of a commit in the background. After a failure, the next round commits again.
    private func committed(_ result: Result<[TopicPartition: Int64], KafkaError>) {
        commitSentAt = nil
        switch result {
        case .success(let offsets):
            failures.recovered(.commits)
            var hasMoved = false
            for (partition, offset) in offsets {
                guard let state = assignment[partition], state.progress.commitSucceeded(at: offset) else { continue }
                hasMoved = hasMoved || offset != state.progress.start
            }
            intake.startsAreCommitted(Array(offsets.keys))
            if hasMoved { CrashPoint.committed.reached() }
        case .failure(let error):
            for partition in assignment.partitions.values { partition.progress.commitFailed() }
            intake.startsAreCommitted(assignment.all)
            failures.report(error, of: .commits)
        }
    }

    /// Commits the partitions' start offsets in the background, before librdkafka fetches. The partitions' records wait
    /// for the result, but the group does not. If this thread waited for the commit and the wait timed out, the commit
    /// would still be under way, and could arrive after a later commit.
    func commitStarts(of assigned: [TopicPartition], _ consumer: KafkaConsumer) {
        checkpointNow(assigned, seconds: PipelineLimits.finalCheckpointSeconds)
        // A commit under way belongs to the earlier assignment, so the broker will refuse it.
        commitSentAt = nil
        sendCommits(consumer, isStart: true)
        nextRound = 0
    }
}

// MARK: - At once, for a bounded time

extension OffsetCommitter {
    private func checkpointNow(_ candidates: [TopicPartition], seconds: Double) {
        let owners = assignment.partitions.filter { candidates.contains($0.key) }
        assignment.restart(checkpointer.writeNow(owners, seconds: seconds))
    }

    /// Checkpoints and commits the offsets of partitions that this worker gives up. Waits for the database, then for
    /// the broker. A commit may cover less than the decided records, but must never cover more. Returns false if the
    /// broker did not answer.
    @discardableResult
    func commitNow(_ leaving: [TopicPartition], _ consumer: KafkaConsumer, seconds: Double) -> Bool {
        guard assignment.restartReason == nil else { return true }
        let deadline = WallClock.monotonicSeconds + seconds
        checkpointNow(leaving, seconds: min(seconds / 2, PipelineLimits.finalCheckpointSeconds))
        guard assignment.restartReason == nil else { return true }
        let left = max(0.1, min(deadline - WallClock.monotonicSeconds, PipelineLimits.finalCommitSeconds))
        do throws(KafkaError) {
            try assignment.partitions.commit(assignment.commitsDue(of: leaving), by: consumer, seconds: left)
            return true
        } catch {
            logger.warning(
                "the last offset commit failed: the next worker reads some decided records again and recognises them",
                [.error: "\(error.name)"])
            return error.code != KafkaError.Code.timedOut
        }
    }

    /// Checkpoints and commits the partition's position (the offset before which every record is finished), with
    /// metadata for the next owner. Returns false if the position is unknown, if the database has no checkpoint that
    /// allows this commit, or if the worker must read partitions again.
    func commitPosition(
        of partition: TopicPartition, metadata: String, _ consumer: KafkaConsumer
    ) throws(KafkaError) -> Bool {
        checkpointNow([partition], seconds: PipelineLimits.finalCheckpointSeconds)
        guard assignment.restartReason == nil else { return false }
        return try assignment.partitions.commitPosition(
            of: partition, metadata: metadata, by: consumer, seconds: PipelineLimits.finalCommitSeconds)
    }

    func countDepartures(of leaving: [TopicPartition], seconds: Double) {
        checkpointer.leave(leaving, of: assignment.partitions, &assignment.isolation, seconds: seconds)
    }
}
