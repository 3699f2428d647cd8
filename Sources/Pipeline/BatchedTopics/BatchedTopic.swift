import Fulfillment
import Kafka
import Logging
import NamesAndTimes
import Operations

/// A topic beside the submissions whose records are taken in batches.
struct BatchedTopic: Sendable {
    let name: String
    /// The properties of its consumer, which has a group of its own. Members of one group that read different topics
    /// would rebalance one another.
    let consumerProperties: KafkaProperties
    /// The part that health watches, that reports failures, and that must not end.
    let part: Health.Part
    let failingPart: FailingPart
    let endlessPart: EndlessPart
    /// The log message about a record that is a dead letter.
    let invalid: StaticString
}

/// Works on batches of a topic's records.
protocol BatchedTopicWorker: Sendable {
    var topic: BatchedTopic { get }
    var publisher: OutcomePublisher { get }
    var metrics: PipelineMetrics { get }
    var logger: Logger { get }

    /// Returns when everything of the batch is durable, in the database or as an acknowledged dead letter. Throws the
    /// database's error while that is out of reach, and `Abandoned` if the publisher closes or the task is cancelled.
    /// The batch may be given again then.
    /// - Returns: the history of the database that holds its effects; nil if it has none there.
    func work(on records: [ConsumerRecord]) async throws -> DatabaseHistory?

    /// Returns when the dead letter is acknowledged. For a batch that Kafka's client cannot read, `record` has its
    /// first offset and nothing else.
    func bury(_ record: ConsumerRecord, _ letter: DeadLetter) async throws
}

extension BatchedTopicWorker {
    func bury(_ record: ConsumerRecord, _ letter: DeadLetter) async throws {
        let fields = try await published(letter, of: record)
        logger.warning(topic.invalid, fields)
    }

    /// Publishes the dead letter. Returns the fields for the log once it is acknowledged.
    func published(_ letter: DeadLetter, of record: ConsumerRecord) async throws -> Logger.Fields {
        try await publisher.publish(letter, of: record, position: record.position)
        metrics.deadLetter(letter.reason)
        return [
            .topic: "\(record.topicPartition.topic)", .partition: .stringConvertible(record.topicPartition.partition),
            .offset: .stringConvertible(record.offset), .detail: "\(letter.detail)",
        ]
    }
}

extension DeadLetter {
    /// PostgreSQL refuses such data, as text that holds a NUL.
    static let refusedByDatabase = DeadLetter(reason: .malformedMessage, detail: "the database refuses its data")
}

extension ConsumerRecord {
    /// The place and content of the record, which is no submission.
    var position: RecordPosition {
        RecordPosition(
            topic: topicPartition.topic, partition: topicPartition.partition, offset: offset,
            timestamp: Timestamp(milliseconds: timestampMilliseconds ?? 0), content: Digest256(hashing: value ?? []))
    }

    /// Returns the values of all headers with that name.
    func values(of header: String) -> [[UInt8]] {
        headers.filter { $0.name == header }.compactMap(\.value)
    }
}

enum BatchedTopicLimits {
    /// The most records in one SQL transaction.
    static let batch = 200
    /// The seconds that a batch may take before the loop leaves the group. Kafka would exclude it after five minutes.
    static let batchSeconds = 60.0
    /// The seconds before the loop joins the group again.
    static let pauseSeconds = 5.0
    /// The seconds that the others' work may take to end before a record is isolated.
    static let turnSeconds = 60.0
    /// The seconds between two tries of a batch.
    static let retrySeconds = 0.5
    static let commitSeconds = 3.0
    /// The milliseconds that a poll waits for a record. A record ends the wait, and `stop` does not.
    static let pollMilliseconds: Int32 = 500
    /// The most milliseconds for a request for the group's offsets, or for a partition's ends.
    static let committedMilliseconds: Int32 = 5000
    static let watermarkMilliseconds: Int32 = 5000
}
