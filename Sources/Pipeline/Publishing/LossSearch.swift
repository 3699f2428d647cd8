import Fulfillment
import Kafka
import NamesAndTimes

/// Finds out whether the database lacks decisions on records whose offsets the fleet has committed in Kafka. It
/// searches all partitions of all topics that lead to grants. A partition's owner notices the partition's loss too, but
/// perhaps only after another worker has decided about a purchase. The calls block.
struct LossSearch: Sendable {
    struct Topic: Sendable {
        let name: String
        /// The properties of the topic's consumer, which name its group.
        let properties: KafkaProperties
    }

    private static let callMilliseconds: Int32 = 5_000

    let topics: [Topic]
    let log: @Sendable (KafkaLogLine) -> Void

    /// Returns the committed offsets of each topic, by partition, without joining a group.
    ///
    /// A topic that does not exist has no entry. A topic whose offsets cannot be read has no entry either, because
    /// submissions must not wait for an optional topic. The owners of its partitions search for losses too.
    /// - Parameter failed: called with each topic whose offsets cannot be read.
    func committed(failed: (Topic, KafkaError) -> Void) -> [String: [Int32: Int64]] {
        var found: [String: [Int32: Int64]] = [:]
        for topic in topics {
            do throws(KafkaError) {
                found[topic.name] = try committed(of: topic)
            } catch {
                if error.code != KafkaError.Code.unknownTopicOrPartition { failed(topic, error) }
            }
        }
        return found
    }

    /// Returns the end of each partition's log; empty if the topic does not exist.
    func ends(of topic: Topic) throws(KafkaError) -> [Int32: Int64] {
        let consumer = try KafkaConsumer(properties: topic.properties, log: log)
        defer { consumer.close(withinSeconds: 3) }
        let partitions = try partitions(of: topic, consumer)
        guard !partitions.isEmpty else { return [:] }
        let ends = try consumer.watermarks(partitions, timeoutMilliseconds: Self.callMilliseconds)
        return Dictionary(uniqueKeysWithValues: ends.map { ($0.key.partition, $0.value.high) })
    }

    private func partitions(of topic: Topic, _ consumer: KafkaConsumer) throws(KafkaError) -> [TopicPartition] {
        let known = try consumer.metadata(topic: topic.name, timeoutMilliseconds: Self.callMilliseconds)
        return (known.topics[topic.name] ?? []).map { TopicPartition(topic: topic.name, partition: $0) }
    }

    private func committed(of topic: Topic) throws(KafkaError) -> [Int32: Int64] {
        let consumer = try KafkaConsumer(properties: topic.properties, log: log)
        defer { consumer.close(withinSeconds: 3) }
        let partitions = try partitions(of: topic, consumer)
        guard !partitions.isEmpty else { return [:] }
        let marks = try consumer.committedMarks(partitions, timeoutMilliseconds: Self.callMilliseconds)
        return Dictionary(uniqueKeysWithValues: marks.map { ($0.key.partition, $0.value.offset) })
    }

    /// Returns the committed offsets that are above the checkpoint of their partition. A partition without a checkpoint
    /// may be new, so only its owner searches for a loss there.
    static func lost(_ committed: [Int32: Int64], _ stored: StoredCheckpoints) -> [Int32: Int64] {
        committed.filter { partition, offset in
            stored.checkpoints[partition].map { $0.nextOffset < offset } ?? false
        }
    }
}
