import Fulfillment
import Kafka
import Logging
import NamesAndTimes
import Operations

/// Takes over partitions, and hands them over to other workers, within librdkafka's rebalance callbacks. Only the
/// consumer's thread uses it.
final class PartitionHandover {
    private let assignment: PartitionAssignment
    private let offsets: OffsetCommitter
    private let isolated: IsolatedIntake
    private let preparation: PartitionPreparation
    private let health: Health
    private let metrics: ReceiptdMetrics
    private let graceSeconds: Double
    private let logger: Logger
    /// The offsets at which some partitions must start at their next assignment, because the last start was above the
    /// checkpoint.
    private var lowerStarts: [TopicPartition: Int64] = [:]
    private let losses: LossWait

    /// - Parameter graceSeconds: the seconds for finishing the records in flight when the process stops.
    init(
        assignment: PartitionAssignment, offsets: OffsetCommitter, isolated: IsolatedIntake,
        preparation: PartitionPreparation, health: Health, metrics: ReceiptdMetrics, graceSeconds: Double,
        logger: Logger
    ) {
        self.assignment = assignment
        self.offsets = offsets
        self.isolated = isolated
        self.preparation = preparation
        losses = LossWait(assignment: assignment, preparation: preparation)
        self.health = health
        self.metrics = metrics
        self.graceSeconds = graceSeconds
        self.logger = logger
    }
}

// MARK: - Taking over

extension PartitionHandover {
    /// Takes partitions over, within `poll` and before librdkafka fetches. Returns the start of each partition that has
    /// a committed offset.
    /// - Parameter isStopping: returns true if the worker stops and will fetch nothing. This function then requests
    ///   neither checkpoints from the database nor the logs' ends from the broker.
    func assigned(
        _ assigned: [TopicPartition], _ consumer: KafkaConsumer, isStopping: () -> Bool
    ) -> [TopicPartition: Int64] {
        metrics.rebalances.increment()
        health.set(.joinedGroup, unmet: nil)
        assignment.begin(assigned)
        losses.prepare()
        logger.info("partitions assigned", [.count: .stringConvertible(assigned.count)])
        let committed: [TopicPartition: CommitMark]
        do throws(KafkaError) {
            committed = try consumer.committedMarks(assigned, timeoutMilliseconds: 5000)
        } catch {
            for partition in assigned {
                _ = assignment.add(
                    partition, progress: PartitionProgress(start: nil, committed: nil, row: nil, writer: 0))
            }
            assignment.restart("the committed offsets cannot be read: \(error.name)")
            return [:]
        }
        // If the database does not answer in time, the preparation reads the rows before the first record begins.
        let stored =
            isStopping() ? nil : preparation.checkpointer.read(assigned, seconds: PipelineLimits.durableReadSeconds)
        // The group waits for this request. If the broker does not answer in time, the worker continues without the
        // logs' ends.
        let ends =
            isStopping()
            ? nil : try? consumer.watermarks(assigned, timeoutMilliseconds: PipelineLimits.offsetCheckMilliseconds)
        var starts: [TopicPartition: Int64] = [:]
        var lost: [TopicPartition: Int64] = [:]
        for partition in assigned {
            let mark = committed[partition]
            let marks = ends?[partition]
            if let mark, let marks { warnOfReset(partition, committed: mark.offset, marks) }
            // `start` is nil for a new group, which starts at the earliest record.
            let row = stored.map { $0.checkpoints[partition.partition] }
            let start = mark.map { mark in
                PartitionProgress.start(
                    committed: mark.offset, row: row, log: marks, lowered: lowerStarts[partition])
            }
            // Without a start, librdkafka requests the committed offset, and an error would leave the partition unread.
            starts[partition] = start
            if let start, let mark, start < mark.offset {
                lost[partition] = mark.offset
                metrics.databaseFellBack(
                    "the database lacks decisions below the committed offset: the worker decides those records again",
                    partition, from: mark.offset, to: start, logger)
            }
            _ = assignment.add(
                partition,
                progress: PartitionProgress(
                    start: start ?? marks?.low, committed: mark, row: row, writer: .random(in: 1...(.max))),
                fallBackCount: losses.fallBackCount)
            assignment.isolation.assigned(
                partition, metadata: mark?.metadata ?? "",
                departures: stored.map { $0.departures[partition.partition] ?? 0 })
        }
        isolated.update()
        guard keep(lost), losses.keepUnseen(in: assigned.filter { lost[$0] == nil }, ends) else {
            assignment.restart("PostgreSQL does not answer: the worker cannot store which decisions may be lost")
            return starts
        }
        // The search for lost claims reads the losses that the code above has stored.
        let entering = losses.begin(isRead: stored != nil || assigned.isEmpty)
        for partition in assigned {
            guard let state = assignment[partition] else { continue }
            state.preparing = preparation.start(partition, assignment: state.assignment, behind: entering)
        }
        offsets.commitStarts(of: assigned, consumer)
        return starts
    }

    func claimsAreEntered(takeover: Int) { losses.claimsAreEntered(takeover: takeover) }

    /// Stores the offsets before which the database may have lost decisions. Call this before a lower offset is
    /// committed, because afterwards no owner can see the loss. Returns false if the database does not answer.
    private func keep(_ lost: [TopicPartition: Int64]) -> Bool {
        guard !lost.isEmpty else { return true }
        for (partition, offset) in lost {
            assignment[partition]?.mayHaveLost(LostDecisions(belowOffset: offset, noticedAt: WallClock.now))
        }
        return preparation.checkpointer.keepDecidedAgain(lost, seconds: PipelineLimits.durableReadSeconds)
    }

    /// Lets the partition's records begin, because its unpublished events are published and its checkpoint is read. If
    /// the checkpoint is below the start, the worker reads all partitions again instead.
    func prepared(
        _ partition: TopicPartition, assignment number: UInt64, highestDecided: Int64?, _ stored: StoredCheckpoints
    ) {
        // The message is ignored if it belongs to an earlier assignment, or if the partition is being revoked.
        guard let state = assignment[partition], state.assignment == number, assignment.gate.isTaking(partition)
        else { return }
        let row = stored.checkpoints[partition.partition]
        if let restart = state.progress.rowWasRead(late: row) {
            // No record has been admitted. A seek could arrive before librdkafka's command to start fetching, as a
            // pause could (see `IntakeGate.pausable`). So the worker joins the group again instead.
            lowerStarts[partition] = row?.nextOffset ?? 0
            return assignment.restart(restart)
        }
        let suspect = assignment.isolation.prepared(
            partition, departures: stored.departures[partition.partition] ?? 0, decidedBefore: row?.nextOffset)
        if let suspect { warnOfDeath(partition, suspect) }
        lowerStarts[partition] = nil
        isolated.update()
        state.prepared(highestDecided: highestDecided)
        state.mayHaveLost(stored.decidedAgain[partition.partition])
        // If the database did not answer at the takeover, the worker learns of the losses only now.
        losses.areKnown()
        assignment.gate.fulfil(.preparation, of: partition)
        isolated.intake.admitPending(of: partition)
    }

    /// Warns if the committed offset is outside the log, because the topic was created again or records expired unread.
    /// The partition then starts at the earliest record.
    private func warnOfReset(_ partition: TopicPartition, committed: Int64, _ marks: (low: Int64, high: Int64)) {
        guard committed < marks.low || committed > marks.high else { return }
        metrics.offsetResets.increment()
        if committed < marks.low {
            return LostRecords(partition: partition, first: committed, last: marks.low - 1)
                .tell(goingOnAt: marks.low, metrics, logger)
        }
        metrics.incidents.note(.topicMadeAnew, of: "\(partition.topic)/\(partition.partition)")
        logger.warning(
            """
            the partition ends before its committed offset, because the topic was recreated: the worker reads the \
            partition from its earliest record
            """,
            [
                .topic: "\(partition.topic)", .partition: .stringConvertible(partition.partition),
                .offset: .stringConvertible(marks.low),
                .detail: "committed \(committed), the log ends at \(marks.high)",
            ])
    }

    private func warnOfDeath(_ partition: TopicPartition, _ suspect: CrashHistory.Suspect) {
        logger.warning(
            "the partition's last worker died while only this record was in flight",
            [
                .topic: "\(partition.topic)", .partition: .stringConvertible(partition.partition),
                .offset: .stringConvertible(suspect.offset), .count: .stringConvertible(suspect.deaths),
            ])
    }
}

// MARK: - Handing on

extension PartitionHandover {
    /// Hands over partitions, within `poll`. This worker owns them until the call returns, so this is its last chance
    /// to commit.
    /// - Parameter handleInbox: handles the inbox's messages, and waits up to the given seconds for the first message.
    func revoked(
        _ revoked: [TopicPartition], _ consumer: KafkaConsumer, lost: Bool, isStopping: Bool,
        handleInbox: (Double) -> Void
    ) {
        metrics.rebalances.increment()
        let started = WallClock.monotonicSeconds
        let limit = isStopping ? 0 : min(PipelineLimits.revocationDrainSeconds, graceSeconds)
        let left = lost ? 0 : drain(revoked, seconds: limit, handleInbox: handleInbox)
        offsets.countDepartures(of: revoked, seconds: PipelineLimits.finalCheckpointSeconds)
        if !lost {
            awaitCheckpoints(seconds: PipelineLimits.finalCheckpointSeconds, handleInbox: handleInbox)
            offsets.commitNow(
                revoked, consumer, seconds: PipelineLimits.finalCheckpointSeconds + PipelineLimits.finalCommitSeconds)
        }
        forget(revoked, lost: lost)
        if lost {
            health.set(
                .joinedGroup,
                unmet: "the worker lost its partitions: Kafka and the worker exchanged no heartbeat in time")
        }
        logger.info(
            "partitions revoked",
            [
                .count: .stringConvertible(revoked.count), .detail: "records still in flight: \(left)",
                .durationSeconds: .stringConvertible(WallClock.monotonicSeconds - started),
            ])
    }

    /// Gives up all partitions as if they were lost, because the consumer is replaced and commits nothing any more.
    func abandon() {
        offsets.countDepartures(of: assignment.all, seconds: PipelineLimits.finalCheckpointSeconds)
        forget(assignment.all, lost: true)
    }

    /// Removes the partitions, and abandons their work. Work that cannot be cancelled continues, but moves no offset.
    private func forget(_ gone: [TopicPartition], lost: Bool = false) {
        if gone.count == assignment.all.count { losses.giveUp() }
        WorkInHand.abandon(assignment.inFlight(of: gone), immediately: true)
        for partition in gone {
            if let state = assignment[partition] { PlantedCommits.revoked(partition, end: state.progress.end) }
            assignment.remove(partition, isLost: lost)
        }
        isolated.update()
    }

    /// Abandons records that only wait, and lets the other records finish within `seconds`. Returns the number of
    /// records that are still in flight.
    private func drain(_ drained: [TopicPartition], seconds: Double, handleInbox: (Double) -> Void) -> Int {
        for partition in drained { assignment.gate.close(partition) }
        let deadline = WallClock.monotonicSeconds + seconds
        WorkInHand.abandon(assignment.inFlight(of: drained), immediately: false)
        var isUrgent = false
        while true {
            let now = WallClock.monotonicSeconds
            let remaining = drained.reduce(0) { $0 + (assignment[$1]?.inFlight.count ?? 0) }
            if remaining == 0 || now >= deadline { return remaining }
            if !isUrgent, now >= deadline - seconds / 5 {
                // In the last fifth of the time, the worker cancels requests to Apple, so that database writes can
                // finish.
                isUrgent = true
                WorkInHand.abandon(assignment.inFlight(of: drained), immediately: true)
            }
            health.beat(.consumerLoop)
            handleInbox(min(0.1, deadline - now))
        }
    }

    /// Waits for checkpoints under way in the background, for at most `seconds`. Until a partition's checkpoint ends,
    /// the partition gets no other checkpoint, and the worker can commit none of its new offsets.
    private func awaitCheckpoints(seconds: Double, handleInbox: (Double) -> Void) {
        let deadline = WallClock.monotonicSeconds + seconds
        while offsets.isCheckpointing, WallClock.monotonicSeconds < deadline {
            health.beat(.consumerLoop)
            handleInbox(min(0.1, deadline - WallClock.monotonicSeconds))
        }
    }

    /// Finishes records in flight, commits, and leaves the group. This takes hardly longer than the grace period, even
    /// if Kafka or the database is away, because the drain leaves time for the last commit.
    func stop(_ consumer: KafkaConsumer, handleInbox: (Double) -> Void) {
        let started = WallClock.monotonicSeconds
        let grace = graceSeconds
        let all = assignment.all
        let isIsolating = assignment.isolation.hasSuspectAtWork
        // A worker that stops too slowly is killed. That death must not count against the isolated record.
        offsets.countDepartures(of: all, seconds: min(PipelineLimits.finalCheckpointSeconds, grace / 5))
        if isIsolating { offsets.commitNow(all, consumer, seconds: min(1, grace / 5)) }
        let drainEnd = started + grace - min(PipelineLimits.finalCommitSeconds, grace / 5)
        let left = drain(all, seconds: max(0, drainEnd - WallClock.monotonicSeconds), handleInbox: handleInbox)
        awaitCheckpoints(seconds: min(PipelineLimits.finalCheckpointSeconds, grace / 5), handleInbox: handleInbox)
        let isHeard = offsets.commitNow(
            all, consumer, seconds: max(1, started + grace - WallClock.monotonicSeconds))
        let uncommitted = assignment.partitions.values.count { $0.progress.position != $0.progress.committed?.offset }
        forget(all)
        // If the broker did not answer the commit, it probably will not answer the departure either.
        consumer.close(withinSeconds: isHeard ? PipelineLimits.closeSeconds : 0)
        logger.info(
            "stopped consuming",
            [
                .detail: "records still in flight: \(left), partitions with an uncommitted offset: \(uncommitted)",
                .durationSeconds: .stringConvertible(WallClock.monotonicSeconds - started),
            ])
    }
}
