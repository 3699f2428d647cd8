import Kafka
import NamesAndTimes
import Operations

/// Finds partitions that Kafka does not allow this worker to read. A worker without the right to read may still join
/// the group and get partitions. Then no record comes, and librdkafka reports the refusal only once.
struct RefusedReading {
    /// The seconds between two tries to read a refused partition.
    private static let retrySeconds = 15.0
    private static let seekMilliseconds: Int32 = 2000

    let health: Health
    private var partitions: Set<TopicPartition> = []
    private var nextTry = 0.0

    init(health: Health) { self.health = health }

    mutating func failed(_ error: KafkaError, hasPartitions: Bool) {
        guard let words = ConsumerTrouble.words(error) else { return }
        if !hasPartitions { health.set(.joinedGroup, unmet: words) }
        guard let place = error.place, place.topicPartition.partition >= 0 else { return }
        partitions.insert(place.topicPartition)
        nextTry = WallClock.monotonicSeconds + Self.retrySeconds
        health.set(.submissionsFetched, unmet: words)
    }

    /// Notes a record or the partition's end, which shows that Kafka allows fetches from the partition.
    mutating func fetched(_ partition: TopicPartition) {
        guard !partitions.isEmpty, partitions.remove(partition) != nil, partitions.isEmpty else { return }
        health.set(.submissionsFetched, unmet: nil)
    }

    /// Tries to read refused partitions again. Call it each second. A seek to a partition's position leads to a record,
    /// to the log's end, or to the same error again.
    mutating func retry(_ assignment: PartitionAssignment, _ consumer: KafkaConsumer) {
        guard !partitions.isEmpty else { return }
        partitions = partitions.filter { assignment[$0] != nil }
        guard !partitions.isEmpty else {
            health.set(.submissionsFetched, unmet: nil)
            return
        }
        guard WallClock.monotonicSeconds >= nextTry else { return }
        nextTry = WallClock.monotonicSeconds + Self.retrySeconds
        for partition in partitions {
            guard let offset = assignment.next(of: partition) else { continue }
            try? consumer.seek(partition, to: offset, timeoutMilliseconds: Self.seekMilliseconds)
        }
    }
}
