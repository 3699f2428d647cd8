import Fulfillment
import Kafka
import Logging
import Operations

/// Offsets, as the main loop keeps them: noted in the database first, then committed in Kafka, and read from both, so
/// that a database that fell back gets again what it has forgotten.
extension NotificationLoop {
    /// Within `poll`, before fetching begins. What is not returned starts where Kafka's commit says.
    func assigned(_ partitions: [TopicPartition], _ consumer: KafkaConsumer) -> [TopicPartition: Int64] {
        assigned = Set(partitions)
        logger.info(
            "partitions of notifications assigned",
            [.topic: "\(worker.source.topic)", .count: .stringConvertible(partitions.count)])
        guard !partitions.isEmpty, let offsets else { return [:] }
        guard
            let known = try? consumer.committed(
                partitions, timeoutMilliseconds: NotificationLimits.committedMilliseconds)
        else {
            mustRejoin = true
            return [:]
        }
        committed = known
        // A new group begins at the earliest record. It is noted too: a database that never heard of the partition could
        // not be told from one that has forgotten it.
        let deadline = WallClock.monotonicSeconds + PipelineLimits.offsetCheckSeconds
        for partition in partitions where known[partition] == nil && WallClock.monotonicSeconds < deadline {
            let marks = try? consumer.watermarks(
                partition, timeoutMilliseconds: NotificationLimits.watermarkMilliseconds)
            committed[partition] = marks?.low
        }
        nextCheck = 0
        let topic = worker.source.topic
        let durable = BlockingWork.wait(seconds: PipelineLimits.durableReadSeconds) {
            try await offsets.read(topic: topic, partitions: partitions.map(\.partition))
        }
        // Without the database nothing could be done either.
        guard let durable else {
            mustRejoin = true
            return [:]
        }
        history = durable.history
        var starts: [TopicPartition: Int64] = [:]
        for (partition, offset) in known {
            guard let noted = durable.offsets[partition.partition], noted < offset else { continue }
            starts[partition] = noted
            committed[partition] = noted
            worker.metrics.all.databaseFallbacks.increment()
            logger.warning(
                "the database lacks what Kafka has committed: notifications are read again",
                [
                    .topic: "\(topic)", .partition: .stringConvertible(partition.partition),
                    .offset: .stringConvertible(noted), .count: .stringConvertible(offset - noted),
                ])
        }
        return starts
    }

    /// Within `poll` or `close`: the last place to commit.
    func revoked(_ partitions: [TopicPartition], lost: Bool, _ consumer: KafkaConsumer) {
        if !lost { commit(consumer, partitions) }
        forget(partitions)
    }

    func forget(_ partitions: [TopicPartition]) {
        for partition in partitions {
            assigned.remove(partition)
            unreadable.forget(partition)
            done[partition] = nil
            committed[partition] = nil
            worker.metrics.all.consumerLag.remove(partition.topic, "\(partition.partition)")
        }
    }

    /// Now and then also what the database has: only by that is it seen to fall back while nothing comes.
    func checkHistory() {
        let now = WallClock.monotonicSeconds
        guard now >= nextCheck else { return }
        nextCheck = now + PipelineLimits.historyCheckSeconds
        let known = committed.merging(done) { _, done in done }.filter { assigned.contains($0.key) }
        note(known)
    }

    /// Notes and commits what is done. What cannot be comes again to whoever is next, and changes nothing then.
    func commit(_ consumer: KafkaConsumer, _ partitions: [TopicPartition]) {
        let due = done.filter { partitions.contains($0.key) && committed[$0.key] != $0.value }
        guard !due.isEmpty, !mustRejoin else { return }
        guard note(due) else { return }
        let marks = due.mapValues { CommitMark(offset: $0) }
        do throws(KafkaError) {
            let milliseconds = Int32(NotificationLimits.commitSeconds * 1000)
            try consumer.commit(marks, timeoutMilliseconds: milliseconds)
            committed.merge(due) { _, new in new }
        } catch {
            logger.debug("offsets of notifications could not be committed yet", [.error: "\(error.name)"])
        }
    }

    /// False where the database did not take it, or does not remember what was done: then the group is joined again.
    @discardableResult
    private func note(_ places: [TopicPartition: Int64]) -> Bool {
        guard let offsets, let history, !places.isEmpty else { return true }
        let noted = Dictionary(uniqueKeysWithValues: places.map { ($0.key.partition, $0.value) })
        let topic = worker.source.topic
        let isNoted = BlockingWork.wait(seconds: PipelineLimits.finalNoteSeconds) {
            try await offsets.note(noted, topic: topic, in: history)
        }
        if isNoted == false {
            logger.warning("the database fell back, or is another one: notifications are read again", [:])
            mustRejoin = true
        }
        return isNoted == true
    }
}
