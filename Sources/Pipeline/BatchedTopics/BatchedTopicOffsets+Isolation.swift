import Fulfillment
import Kafka
import Logging
import NamesAndTimes
import Operations

/// Finds records that kill the process, by work on one record at a time. `CrashIsolation` decides, as it does for
/// submissions.
extension BatchedTopicOffsets {
    /// The next records of a batch, and the way to process them.
    enum Portion {
        case together([ConsumerRecord])
        /// One record, which the commit's metadata names. Meanwhile the process must work on no other record.
        case isolated(ConsumerRecord)
        case deadLetter(ConsumerRecord, deaths: Int)
        /// No record may begin now, for example because Kafka did not accept the commit that names the isolated record.
        case notNow
    }

    /// Reads the crash history of a partition's earlier owners.
    /// - Parameter stored: the database's rows, with the count of owners that left in order.
    func inherit(_ partition: TopicPartition, _ mark: CommitMark?, _ stored: StoredCheckpoints) {
        var metadata = mark?.metadata ?? ""
        if let offset = isolatedHere[partition] {
            var history = CrashHistory(metadata: metadata)
            if history.suspect?.offset == offset { history.suspectIs(atWork: false) }
            metadata = history.metadata
        }
        isolation.assigned(partition, metadata: metadata, departures: stored.departures[partition.partition] ?? 0)
        let suspect = isolation.prepared(
            partition, departures: stored.departures[partition.partition] ?? 0,
            decidedBefore: stored.checkpoints[partition.partition]?.nextOffset)
        guard let suspect else { return }
        logger.warning(
            "the partition's last worker died while only this record was in flight",
            [
                .topic: "\(partition.topic)", .partition: .stringConvertible(partition.partition),
                .offset: .stringConvertible(suspect.offset), .count: .stringConvertible(suspect.deaths),
            ])
    }

    /// Begins or ends isolation, as the assigned partitions require. Returns whether isolation is on.
    func updateIsolation() -> Bool {
        switch isolation.update() {
        case .began(let records):
            logger.warning(
                "the process crashed repeatedly without progress: the worker takes records one at a time",
                [.topic: "\(checkpointer.topic)", .count: .stringConvertible(records)])
        case .ended:
            logger.info(
                "isolation is over: the worker takes records concurrently again", [.topic: "\(checkpointer.topic)"])
        case nil: break
        }
        return isolation.isActive
    }

    /// Returns the next portion of `pending`. `pending` is sorted by offset and not empty. Call this only when no
    /// record of this topic is in flight.
    func portion(of pending: [ConsumerRecord], _ consumer: KafkaConsumer) -> Portion {
        guard isolation.isActive else { return .together(unlimited(pending)) }
        switch isolation.next(among: candidates(pending, consumer), now: WallClock.monotonicSeconds) {
        case .isolate(let offset, let partition, let metadata):
            guard let record = pending.first(where: { $0.topicPartition == partition && $0.offset == offset }),
                commit(metadata, of: partition, consumer)
            else { return .notNow }
            isolatedHere[partition] = offset
            isolation.isolated(offset, of: partition)
            return .isolated(record)
        case .deadLetter(let offset, let partition, let deaths):
            guard let record = pending.first(where: { $0.topicPartition == partition && $0.offset == offset }) else {
                return .notNow
            }
            return .deadLetter(record, deaths: deaths)
        case nil: return .together(unlimited(pending))
        }
    }

    /// If a partition's log has ended, or no record came for a while, clears the partition's crash history: there is no
    /// record to isolate.
    func noRecords(_ consumer: KafkaConsumer) {
        guard isolation.isActive else { return }
        _ = isolation.next(among: candidates([], consumer), now: WallClock.monotonicSeconds)
        _ = updateIsolation()
    }

    /// Returns the first records of `pending` that may be processed together. If a partition is in mode `limited` and
    /// its owner has committed no progress, returns at most `isolatedRecords` of that partition's records.
    private func unlimited(_ pending: [ConsumerRecord]) -> [ConsumerRecord] {
        var counts: [TopicPartition: Int] = [:]
        return Array(
            pending.prefix { record in
                let partition = record.topicPartition
                let count = counts[partition, default: 0]
                counts[partition] = count + 1
                switch isolation.admission(
                    to: partition, awaitsProgress: partitions[partition]?.progress.awaitsProgress ?? false)
                {
                case .unlimited, .isolated: return true
                case .first(let most): return count < most
                }
            })
    }

    private func candidates(
        _ pending: [ConsumerRecord], _ consumer: KafkaConsumer
    ) -> [CrashIsolation.Candidate] {
        partitions.map { partition, state in
            let next = pending.first { $0.topicPartition == partition }?.offset
            let end = consumer.cachedWatermarks(partition)?.high
            return CrashIsolation.Candidate(
                partition: partition, next: next, isAtEnd: end.map { state.reached ?? .min >= $0 } ?? false)
        }
    }

    /// Commits the partition's position with new metadata. Returns false if the commit failed, or if the database has
    /// no checkpoint at the position.
    private func commit(_ metadata: String, of partition: TopicPartition, _ consumer: KafkaConsumer) -> Bool {
        guard !mustRejoin else { return false }
        do throws(KafkaError) {
            return try partitions.commitPosition(
                of: partition, metadata: metadata, by: consumer, seconds: BatchedTopicLimits.commitSeconds)
        } catch {
            checkpointer.failures.report(error, of: .commits)
            return false
        }
    }

    /// Commits whether the worker works on the isolated record or the record waits. A death counts only while the
    /// worker works on the record. Returns whether Kafka accepted the commit.
    func accuse(isAtWork: Bool, _ consumer: KafkaConsumer) -> Bool {
        guard let (partition, metadata) = isolation.metadata(ofSuspectAtWork: isAtWork),
            commit(metadata, of: partition, consumer)
        else { return false }
        isolation.suspectIs(atWork: isAtWork)
        return true
    }

    func finishedIsolated(_ partition: TopicPartition) {
        isolatedHere[partition] = nil
        isolation.finished(partition)
    }

    /// Withdraws the accusation of the isolated record: a try could not finish the record, but the process survived. So
    /// a later death does not count against the record.
    func acquit(_ partition: TopicPartition, _ consumer: KafkaConsumer) {
        isolation.leave(partition, departures: nil)
        _ = commit(isolation.metadata(of: partition, hasMoved: false), of: partition, consumer)
    }

    func leave(_ leaving: [TopicPartition]) {
        checkpointer.leave(leaving, of: partitions, &isolation, seconds: PipelineLimits.finalCheckpointSeconds)
    }
}
