import Fulfillment
import Kafka
import Logging
import Operations

extension ConsumerLoop {
    /// Called within poll, before fetching begins.
    func assigned(_ assigned: [TopicPartition], _ consumer: KafkaConsumer) -> [TopicPartition: Int64] {
        worker.metrics.all.rebalances.increment()
        health.set(.joinedGroup, unmet: nil)
        logger.info("partitions assigned", [.count: .stringConvertible(assigned.count)])
        let committed = (try? consumer.committed(assigned, timeoutMilliseconds: 5000)) ?? [:]
        for partition in assigned {
            assignments += 1
            partitions[partition] = AssignedPartition(assignment: assignments, committed: committed[partition])
            newlyAssigned.append(partition)
            noteOffsetReset(partition, committed: committed[partition], consumer)
            prepare(partition, assignment: assignments)
        }
        return [:]
    }

    /// A committed offset outside the log (a topic made anew, records expired unread) starts again at the earliest.
    private func noteOffsetReset(_ partition: TopicPartition, committed: Int64?, _ consumer: KafkaConsumer) {
        guard let committed, committed >= 0,
            let marks = try? consumer.watermarks(partition, timeoutMilliseconds: 5000),
            committed < marks.low || committed > marks.high
        else { return }
        worker.metrics.all.offsetResets.increment()
        logger.warning(
            "the committed offset lies outside the log: starting at the earliest record",
            [.topic: "\(partition.topic)", .partition: .stringConvertible(partition.partition),
                .offset: .stringConvertible(committed)])
    }

    /// Publishes what the partition's last owner decided and may not have published, before anything new of it: so
    /// that order per player survives a fail-over. Tries until the database answers or the partition is gone.
    private func prepare(_ partition: TopicPartition, assignment: UInt64) {
        let sweep = OutboxSweep(
            unpublished: unpublished, publisher: worker.publisher, ledger: worker.ledger, logger: logger)
        let inbox = inbox
        Task {
            guard let highest = await sweep.sweep(partition) else { return }
            inbox.post(.prepared(partition, assignment: assignment, highestDecided: highest.offset))
        }
    }

    /// Fetching of a partition that is not prepared, or of any while we are full, is stopped before it fills memory.
    func pauseNewlyAssigned(_ consumer: KafkaConsumer) {
        guard !newlyAssigned.isEmpty else { return }
        let owned = newlyAssigned.filter { partitions[$0] != nil }
        newlyAssigned.removeAll()
        do throws(KafkaError) { try consumer.pause(owned) } catch {
            logger.warning("partitions could not be paused", [.error: "\(error.name)"])
        }
    }

    func prepared(_ partition: TopicPartition, assignment: UInt64, highestDecided: Int64?) {
        guard partitions[partition]?.assignment == assignment else { return }
        partitions[partition]?.preparation = AssignedPartition.Preparation(highestDecided: highestDecided)
        let early = partitions[partition]?.early ?? []
        partitions[partition]?.early = []
        for record in early { admit(record) }
        toResume.append(partition)
    }

    func resumePrepared(_ consumer: KafkaConsumer) {
        guard !toResume.isEmpty, !isPaused else { return }
        let owned = toResume.filter { partitions[$0]?.preparation != nil }
        toResume.removeAll()
        do throws(KafkaError) { try consumer.resume(owned) } catch {
            logger.warning("partitions could not be resumed", [.error: "\(error.name)"])
        }
    }

    /// Called within poll or close: the partitions are ours until it returns, so this is the last place to commit.
    func revoked(_ revoked: [TopicPartition], lost: Bool, _ consumer: KafkaConsumer) {
        worker.metrics.all.rebalances.increment()
        let started = WallClock.monotonicSeconds
        let limit = isStopping ? 0 : min(PipelineLimits.revocationDrainSeconds, settings.shutdownGraceSeconds)
        let left = lost ? 0 : drain(revoked, seconds: limit)
        if !lost { commitNow(revoked, consumer) }
        for partition in revoked {
            for item in partitions[partition]?.inFlight.values ?? [:].values { item.abandon(immediately: true) }
            partitions[partition] = nil
            worker.metrics.all.consumerLag.remove(partition.topic, "\(partition.partition)")
        }
        logger.info(
            "partitions given back",
            [.count: .stringConvertible(revoked.count), .detail: "left in flight: \(left)",
                .durationSeconds: .stringConvertible(WallClock.monotonicSeconds - started)])
    }

    /// Gives up what only waits, lets the rest finish within `seconds`. Returns how many records were left.
    @discardableResult
    func drain(_ drained: [TopicPartition], seconds: Double) -> Int {
        func inFlight() -> [InFlightRecord] { drained.flatMap { Array(partitions[$0]?.inFlight.values ?? [:].values) } }
        let deadline = WallClock.monotonicSeconds + seconds
        for item in inFlight() { item.abandon(immediately: false) }
        var isUrgent = false
        while true {
            let now = WallClock.monotonicSeconds
            let remaining = drained.reduce(0) { $0 + (partitions[$1]?.inFlight.count ?? 0) }
            if remaining == 0 || now >= deadline { return remaining }
            if !isUrgent, now >= deadline - seconds / 5 {
                // The last fifth: what is under way at Apple is cut, so that what is in the database can finish.
                isUrgent = true
                for item in inFlight() { item.abandon(immediately: true) }
            }
            health.beat(.consumerLoop)
            handleInbox(waitingSeconds: min(0.1, deadline - now))
        }
    }

    func stop(_ consumer: KafkaConsumer) {
        let started = WallClock.monotonicSeconds
        let all = Array(partitions.keys)
        try? consumer.pause(all)
        let left = drain(all, seconds: settings.shutdownGraceSeconds)
        commitNow(all, consumer)
        consumer.close()
        logger.info(
            "stopped consuming",
            [.detail: "left in flight: \(left)",
                .durationSeconds: .stringConvertible(WallClock.monotonicSeconds - started)])
    }
}
