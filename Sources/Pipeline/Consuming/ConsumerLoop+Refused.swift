import Kafka
import Operations

extension ConsumerLoop {
    /// Between two tries to find out whether what was refused is allowed again.
    private static let retrySeconds = 15.0
    private static let seekMilliseconds: Int32 = 2000

    /// Joined and assigned is not enough: without the right to read nothing comes, and librdkafka says so once.
    func noteRefused(_ error: KafkaError) {
        guard let words = ConsumerTrouble.words(error) else { return }
        if partitions.isEmpty { health.set(.joinedGroup, unmet: words) }
        guard let place = error.place, place.topicPartition.partition >= 0 else { return }
        refused.insert(place.topicPartition)
        nextTry = WallClock.monotonicSeconds + Self.retrySeconds
        health.set(.submissionsFetched, unmet: words)
    }

    /// A record or the end of a partition: fetches are answered.
    func noteFetched(_ partition: TopicPartition) {
        guard !refused.isEmpty, refused.remove(partition) != nil, refused.isEmpty else { return }
        health.set(.submissionsFetched, unmet: nil)
    }

    /// Every second. Seeking to where the partition stands brings a record, its end, or the same error once more.
    func retryRefused(_ consumer: KafkaConsumer) {
        guard !refused.isEmpty else { return }
        refused = refused.filter { partitions[$0] != nil }
        guard !refused.isEmpty else {
            health.set(.submissionsFetched, unmet: nil)
            return
        }
        guard WallClock.monotonicSeconds >= nextTry else { return }
        nextTry = WallClock.monotonicSeconds + Self.retrySeconds
        for partition in refused {
            guard let state = partitions[partition], let offset = state.next ?? state.progress.start else { continue }
            try? consumer.seek(partition, to: offset, timeoutMilliseconds: Self.seekMilliseconds)
        }
    }
}
