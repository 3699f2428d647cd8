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
        logger.info("partitions assigned", [.count: .stringConvertible(assigned.count)])
        let committed = (try? consumer.committed(assigned, timeoutMilliseconds: 5000)) ?? [:]
        let deadline = WallClock.monotonicSeconds + PipelineLimits.offsetCheckSeconds
        for partition in assigned {
            assignments += 1
            let state = AssignedPartition(assignment: assignments, committed: committed[partition])
            partitions[partition] = state
            // The group waits for us meanwhile: better no warning than no assignment.
            if WallClock.monotonicSeconds < deadline {
                noteOffsetReset(partition, committed: committed[partition], consumer)
            }
            state.preparing = prepare(partition, assignment: assignments)
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
            [
                .topic: "\(partition.topic)", .partition: .stringConvertible(partition.partition),
                .offset: .stringConvertible(committed),
            ])
    }

    /// Publishes what the partition's last owner decided and may not have published, before anything new of it: so
    /// that order per player survives a fail-over. Tries until the database answers or the partition is gone.
    private func prepare(_ partition: TopicPartition, assignment: UInt64) -> Task<Void, Never> {
        let sweep = OutboxSweep(
            unpublished: unpublished, publisher: worker.publisher, ledger: worker.ledger, logger: logger)
        let inbox = inbox
        return Task {
            guard let highest = await sweep.sweep(partition) else { return }
            inbox.post(.prepared(partition, assignment: assignment, highestDecided: highest.offset))
        }
    }

    func prepared(_ partition: TopicPartition, assignment: UInt64, highestDecided: Int64?) {
        // What is on its way out begins nothing new.
        guard let state = partitions[partition], state.assignment == assignment, !leaving.contains(partition)
        else { return }
        state.prepared(highestDecided: highestDecided)
        let early = state.early
        state.early = []
        for record in early { admit(record, to: state) }
    }

    /// Called within poll or close: the partitions are ours until it returns, so this is the last place to commit.
    func revoked(_ revoked: [TopicPartition], lost: Bool, _ consumer: KafkaConsumer) {
        worker.metrics.all.rebalances.increment()
        let started = WallClock.monotonicSeconds
        let limit = isStopping ? 0 : min(PipelineLimits.revocationDrainSeconds, settings.shutdownGraceSeconds)
        let left = lost ? 0 : drain(revoked, seconds: limit)
        if !lost { commitNow(revoked, consumer) }
        forget(revoked)
        logger.info(
            "partitions given back",
            [
                .count: .stringConvertible(revoked.count), .detail: "left in flight: \(left)",
                .durationSeconds: .stringConvertible(WallClock.monotonicSeconds - started),
            ])
    }

    /// What is still under way goes on for as long as it cannot be cancelled, and moves no offset any more.
    func forget(_ gone: [TopicPartition]) {
        InFlightRecord.abandon(gone.flatMap { Array(partitions[$0]?.inFlight.values ?? [:].values) }, immediately: true)
        for partition in gone {
            guard let state = partitions.removeValue(forKey: partition) else { continue }
            if PlantedFault.commitAfterRevoke.isPlanted { givenBack[partition] = state.end }
            state.preparing?.cancel()
            for record in state.early { window.release(bytes: record.byteCount) }
            worker.metrics.all.consumerLag.remove(partition.topic, "\(partition.partition)")
        }
    }

    /// Gives up what only waits, lets the rest finish within `seconds`. Returns how many records were left.
    private func drain(_ drained: [TopicPartition], seconds: Double) -> Int {
        func inFlight() -> [InFlightRecord] { drained.flatMap { Array(partitions[$0]?.inFlight.values ?? [:].values) } }
        leaving = Set(drained)
        defer { leaving = [] }
        let deadline = WallClock.monotonicSeconds + seconds
        InFlightRecord.abandon(inFlight(), immediately: false)
        var isUrgent = false
        while true {
            let now = WallClock.monotonicSeconds
            let remaining = drained.reduce(0) { $0 + (partitions[$1]?.inFlight.count ?? 0) }
            if remaining == 0 || now >= deadline { return remaining }
            if !isUrgent, now >= deadline - seconds / 5 {
                // The last fifth: what is under way at Apple is cut, so that what is in the database can finish.
                isUrgent = true
                InFlightRecord.abandon(inFlight(), immediately: true)
            }
            health.beat(.consumerLoop)
            handleInbox(waitingSeconds: min(0.1, deadline - now))
        }
    }

    func stop(_ consumer: KafkaConsumer) {
        let started = WallClock.monotonicSeconds
        let all = Array(partitions.keys)
        let left = drain(all, seconds: settings.shutdownGraceSeconds)
        commitNow(all, consumer)
        consumer.close()
        logger.info(
            "stopped consuming",
            [
                .detail: "left in flight: \(left)",
                .durationSeconds: .stringConvertible(WallClock.monotonicSeconds - started),
            ])
    }
}
