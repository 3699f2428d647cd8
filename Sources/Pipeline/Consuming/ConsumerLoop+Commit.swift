import Kafka
import Logging
import Operations
import PlantedFaults

extension ConsumerLoop {
    func commitInBackground(_ consumer: KafkaConsumer) {
        var due = commitsDue(Array(partitions.keys)).filter { $0.value != partitions[$0.key]?.committing }
        if PlantedFault.commitAfterRevoke.isPlanted, !partitions.isEmpty {
            due.merge(givenBack.filter { partitions[$0.key] == nil }) { own, _ in own }
            givenBack = [:]
        }
        guard !due.isEmpty else { return }
        do throws(KafkaError) {
            try consumer.commit(due, synchronously: false)
            for (partition, offset) in due { partitions[partition]?.committing = offset }
        } catch {
            logger.debug("a commit could not be sent", [.error: "\(error.name)"])
        }
    }

    /// The outcome of a commit in the background. A failed one is no trouble: the next second commits again.
    func noteCommit(_ result: Result<[TopicPartition: Int64], KafkaError>) {
        switch result {
        case .success(let offsets):
            for (partition, offset) in offsets where partitions[partition]?.committing == offset {
                partitions[partition]?.committed = offset
                partitions[partition]?.committing = nil
            }
            CrashPoint.committed.reached()
        case .failure(let error):
            for partition in partitions.values { partition.committing = nil }
            logger.debug("a commit failed and will be sent again", [.error: "\(error.name)"])
        }
    }

    /// On the way out: waits for the broker's answer. Committed less than decided is safe, never the reverse.
    func commitNow(_ leaving: [TopicPartition], _ consumer: KafkaConsumer) {
        let due = commitsDue(leaving)
        guard !due.isEmpty else { return }
        do throws(KafkaError) {
            try consumer.commit(due, synchronously: true)
            for (partition, offset) in due { partitions[partition]?.committed = offset }
        } catch {
            logger.warning(
                "the last commit failed: what was decided will be recognised when it comes again",
                [.error: "\(error.name)"])
        }
    }

    private func commitsDue(_ candidates: [TopicPartition]) -> [TopicPartition: Int64] {
        var due: [TopicPartition: Int64] = [:]
        for partition in candidates { due[partition] = partitions[partition]?.commitDue }
        return due
    }
}
