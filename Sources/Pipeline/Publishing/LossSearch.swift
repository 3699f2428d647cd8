import Fulfillment
import Kafka
import NamesAndTimes

/// Looks whether the database lacks what the fleet has committed to Kafka, in any partition of any topic that leads to grants. The owner
/// of a partition notices a loss there too, but another worker must not decide on a purchase meanwhile. Its calls block.
struct LossSearch: Sendable {
    struct Topic: Sendable {
        let name: String
        /// A consumer's settings; they name its group.
        let properties: KafkaProperties
    }

    private static let callMilliseconds: Int32 = 10_000
    /// Topics that are not there, or that this worker may not see, tell of no loss.
    private static let absences = [KafkaError.Code.unknownTopicOrPartition, KafkaError.Code.topicAuthorizationFailed]

    let topics: [Topic]
    let log: @Sendable (KafkaLogLine) -> Void

    /// Returns the committed offsets of each topic, by partition. Throws a `KafkaError`. Joins no group.
    func committed() throws(KafkaError) -> [String: [Int32: Int64]] {
        var found: [String: [Int32: Int64]] = [:]
        for topic in topics {
            let consumer = try KafkaConsumer(properties: topic.properties, log: log)
            defer { consumer.close() }
            let known: KafkaClusterMetadata
            do throws(KafkaError) {
                known = try consumer.metadata(topic: topic.name, timeoutMilliseconds: Self.callMilliseconds)
            } catch  where Self.absences.contains(error.code) {
                continue
            }
            let partitions = (known.topics[topic.name] ?? []).map { TopicPartition(topic: topic.name, partition: $0) }
            guard !partitions.isEmpty else { continue }
            for (partition, mark) in try consumer.committedMarks(partitions, timeoutMilliseconds: Self.callMilliseconds)
            {
                found[topic.name, default: [:]][partition.partition] = mark.offset
            }
        }
        return found
    }

    /// Returns the committed offsets of the partitions whose checkpoint is lower. A partition without a checkpoint is left to its owner: it
    /// may be a new one.
    static func lost(_ committed: [Int32: Int64], _ stored: StoredCheckpoints) -> [Int32: Int64] {
        committed.filter { partition, offset in
            stored.checkpoints[partition].map { $0.nextOffset < offset } ?? false
        }
    }
}
