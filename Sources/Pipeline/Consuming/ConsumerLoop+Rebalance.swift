import Fulfillment
import Kafka
import Logging
import Operations
import PlantedFaults

extension ConsumerLoop {
    /// Called within poll, before fetching begins.
    func assigned(_ assigned: [TopicPartition], _ consumer: KafkaConsumer) -> [TopicPartition: Int64] {
        worker.metrics.all.rebalances.increment()
        health.set(.joinedGroup, unmet: nil)
        gauges.assign(assigned.map { ($0.topic, $0.partition) })
        logger.info("partitions assigned", [.count: .stringConvertible(assigned.count)])
        guard let committed = try? consumer.committedMarks(assigned, timeoutMilliseconds: 5000) else {
            for partition in assigned {
                partitions[partition] = AssignedPartition(
                    assignment: nextAssignment(),
                    progress: PartitionProgress(start: nil, committed: nil, row: nil, writer: 0))
            }
            rejoin("the committed offsets cannot be read")
            return [:]
        }
        // A database that does not answer in time is asked again before the first record is admitted.
        let stored = checkpointer.read(assigned, seconds: PipelineLimits.durableReadSeconds)
        let deadline = WallClock.monotonicSeconds + PipelineLimits.offsetCheckSeconds
        var starts: [TopicPartition: Int64] = [:]
        for partition in assigned {
            let mark = committed[partition]
            // The group waits for us meanwhile: better no warning than no assignment.
            let marks =
                WallClock.monotonicSeconds < deadline
                ? try? consumer.watermarks(partition, timeoutMilliseconds: 5000) : nil
            if let mark, let marks { noteOffsetReset(partition, committed: mark.offset, marks) }
            // A new group begins at the earliest record.
            let start = mark.map { mark in
                self.start(of: partition, committed: mark.offset, stored: stored, earliest: marks?.low)
            }
            if let start, start != mark?.offset { starts[partition] = start }
            let state = AssignedPartition(
                assignment: nextAssignment(),
                progress: PartitionProgress(
                    start: start ?? marks?.low, committed: mark,
                    row: stored.map { $0.checkpoints[partition.partition] }, writer: .random(in: 1...(.max))))
            state.begin(departures: stored.map { $0.departures[partition.partition] ?? 0 })
            partitions[partition] = state
            state.preparing = prepare(partition, assignment: state.assignment)
        }
        updateCare()
        commitStarts(assigned, consumer)
        nextCommit = 0
        return starts
    }

    private func nextAssignment() -> UInt64 {
        assignments += 1
        return assignments
    }

    /// A committed offset outside the log (a topic made anew, records expired unread) starts again at the earliest.
    private func noteOffsetReset(_ partition: TopicPartition, committed: Int64, _ marks: (low: Int64, high: Int64)) {
        guard committed < marks.low || committed > marks.high else { return }
        worker.metrics.all.offsetResets.increment()
        logger.warning(
            "the committed offset lies outside the log: starting at the earliest record",
            [
                .topic: "\(partition.topic)", .partition: .stringConvertible(partition.partition),
                .offset: .stringConvertible(committed),
            ])
    }

    /// Publishes what the partition's last owner decided and may not have published, before anything new of it: so
    /// that order per player survives a fail-over. Tries until the database answers or the partition is gone.
    private func prepare(_ partition: TopicPartition, assignment: UInt64) -> Task<Void, Never> {
        let relay = OutboxRelay(
            unpublished: unpublished, publisher: worker.publisher, ledger: worker.ledger, logger: logger)
        let inbox = inbox
        let checkpointer = checkpointer
        return Task {
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

    private func warnOfDeath(_ partition: TopicPartition, _ note: CrashNote) {
        logger.warning(
            "the last owner of the partition died while this record alone was in flight",
            [
                .topic: "\(partition.topic)", .partition: .stringConvertible(partition.partition),
                .offset: "\(note.suspect.map(String.init) ?? "none")", .count: .stringConvertible(note.deaths),
            ])
    }

    func prepared(
        _ partition: TopicPartition, assignment: UInt64, highestDecided: Int64?, _ stored: StoredCheckpoints
    ) {
        // What is on its way out begins nothing new.
        guard let state = partitions[partition], state.assignment == assignment, !leaving.contains(partition)
        else { return }
        let row = stored.checkpoints[partition.partition]
        if let restart = state.progress.rowWasRead(late: row) {
            // Nothing was admitted yet. Seeking could overtake librdkafka's own order to start fetching, as pausing could:
            // joining again cannot.
            lowerStarts[partition] = row?.nextOffset ?? 0
            return rejoin(restart)
        }
        // The database may not have answered when the partition was assigned, or its last owner may have been late.
        state.begin(departures: stored.departures[partition.partition] ?? 0)
        if let row { state.note.acquit(before: row.nextOffset) }
        if state.deathWasCounted { warnOfDeath(partition, state.note) }
        lowerStarts[partition] = nil
        updateCare()
        state.prepared(highestDecided: highestDecided)
        admitHeld(state, of: partition)
    }

    /// Called within poll or close: the partitions are ours until it returns, so this is the last place to commit.
    func revoked(_ revoked: [TopicPartition], lost: Bool, _ consumer: KafkaConsumer) {
        worker.metrics.all.rebalances.increment()
        let started = WallClock.monotonicSeconds
        let limit = isStopping ? 0 : min(PipelineLimits.revocationDrainSeconds, settings.shutdownGraceSeconds)
        let left = lost ? 0 : drain(revoked, seconds: limit)
        depart(revoked, seconds: PipelineLimits.finalCheckpointSeconds)
        if !lost {
            commitNow(
                revoked, consumer, seconds: PipelineLimits.finalCheckpointSeconds + PipelineLimits.finalCommitSeconds)
        }
        forget(revoked, lost: lost)
        if lost { health.set(.joinedGroup, unmet: "the consumer group's partitions were lost: Kafka does not answer") }
        logger.info(
            "partitions given back",
            [
                .count: .stringConvertible(revoked.count), .detail: "left in flight: \(left)",
                .durationSeconds: .stringConvertible(WallClock.monotonicSeconds - started),
            ])
    }

    /// What is still under way goes on for as long as it cannot be cancelled, and moves no offset any more.
    func forget(_ gone: [TopicPartition], lost: Bool = false) {
        SubmissionInHand.abandon(
            gone.flatMap { Array(partitions[$0]?.inFlight.values ?? [:].values) }, immediately: true)
        for partition in gone {
            guard let state = partitions.removeValue(forKey: partition) else { continue }
            if PlantedFault.commitAfterRevoke.isPlanted { givenBack[partition] = state.progress.end }
            state.preparing?.cancel()
            unreadable.forget(partition)
            for record in state.held { window.release(bytes: record.byteCount) }
            gauges.giveBack(topic: partition.topic, partition: partition.partition, isLost: lost)
        }
        updateCare()
    }

    /// Gives up what only waits, lets the rest finish within `seconds`. Returns how many records were left.
    private func drain(_ drained: [TopicPartition], seconds: Double) -> Int {
        func inFlight() -> [SubmissionInHand] {
            drained.flatMap { Array(partitions[$0]?.inFlight.values ?? [:].values) }
        }
        leaving = Set(drained)
        defer { leaving = [] }
        let deadline = WallClock.monotonicSeconds + seconds
        SubmissionInHand.abandon(inFlight(), immediately: false)
        var isUrgent = false
        while true {
            let now = WallClock.monotonicSeconds
            let remaining = drained.reduce(0) { $0 + (partitions[$1]?.inFlight.count ?? 0) }
            if remaining == 0 || now >= deadline { return remaining }
            if !isUrgent, now >= deadline - seconds / 5 {
                // The last fifth: what is under way at Apple is cut, so that what is in the database can finish.
                isUrgent = true
                SubmissionInHand.abandon(inFlight(), immediately: true)
            }
            health.beat(.consumerLoop)
            handleInbox(waitingSeconds: min(0.1, deadline - now))
        }
    }

    /// Ends within the grace and little more, whatever is away: the drain leaves a part of it to the last commit.
    func stop(_ consumer: KafkaConsumer) {
        let started = WallClock.monotonicSeconds
        let grace = settings.shutdownGraceSeconds
        let all = Array(partitions.keys)
        let isAlone = all.contains { partitions[$0]?.note.isAlone ?? false }
        // Whoever was told to stop is killed if it takes too long: that death is not the record's.
        depart(all, seconds: min(PipelineLimits.finalCheckpointSeconds, grace / 5))
        if isAlone { _ = commitNow(all, consumer, seconds: min(1, grace / 5)) }
        let drainEnd = started + grace - min(PipelineLimits.finalCommitSeconds, grace / 5)
        let left = drain(all, seconds: max(0, drainEnd - WallClock.monotonicSeconds))
        let isHeard = commitNow(all, consumer, seconds: max(1, started + grace - WallClock.monotonicSeconds))
        let uncommitted = all.count {
            partitions[$0].map { $0.progress.position != $0.progress.committed?.offset } ?? false
        }
        // Closing calls the revoke handler, which has nothing left to wait for.
        forget(all)
        // It waits for the commit that is still under way, for as long as a session. Nobody hears us leave then anyway.
        if isHeard { consumer.close() } else { consumer.abandonInBackground() }
        logger.info(
            "stopped consuming",
            [
                .detail: "left in flight: \(left), partitions behind in Kafka: \(uncommitted)",
                .durationSeconds: .stringConvertible(WallClock.monotonicSeconds - started),
            ])
    }
}
