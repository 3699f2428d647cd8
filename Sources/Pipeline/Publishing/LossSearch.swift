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
    /// Topics that are not there, or that this worker may not read, tell of no loss: they are optional.
    private static let absences = [
        KafkaError.Code.unknownTopicOrPartition, KafkaError.Code.topicAuthorizationFailed,
        KafkaError.Code.groupAuthorizationFailed,
    ]

    let topics: [Topic]
    let log: @Sendable (KafkaLogLine) -> Void

    /// Returns the committed offsets of each topic, by partition. Throws a `KafkaError`. Joins no group.
    func committed() throws(KafkaError) -> [String: [Int32: Int64]] {
        var found: [String: [Int32: Int64]] = [:]
        for topic in topics {
            let consumer = try KafkaConsumer(properties: topic.properties, log: log)
            defer { consumer.close() }
            do throws(KafkaError) {
                found[topic.name] = try Self.committed(of: topic.name, by: consumer)
            } catch  where Self.absences.contains(error.code) {
                continue
            }
        }
        return found
    }

    private static func committed(
        of topic: String, by consumer: KafkaConsumer
    ) throws(KafkaError) -> [Int32: Int64] {
        let known = try consumer.metadata(topic: topic, timeoutMilliseconds: callMilliseconds)
        let partitions = (known.topics[topic] ?? []).map { TopicPartition(topic: topic, partition: $0) }
        guard !partitions.isEmpty else { return [:] }
        let marks = try consumer.committedMarks(partitions, timeoutMilliseconds: callMilliseconds)
        return Dictionary(uniqueKeysWithValues: marks.map { ($0.key.partition, $0.value.offset) })
    }

    /// Returns the committed offsets of the partitions whose checkpoint is lower. A partition without a checkpoint is left to its owner: it
    /// may be a new one.
    static func lost(_ committed: [Int32: Int64], _ stored: StoredCheckpoints) -> [Int32: Int64] {
        committed.filter { partition, offset in
            stored.checkpoints[partition].map { $0.nextOffset < offset } ?? false
        }
    }
}
