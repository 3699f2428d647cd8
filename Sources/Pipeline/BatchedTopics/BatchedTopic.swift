import Fulfillment
import Kafka
import Logging
import NamesAndTimes
import Operations

/// A topic other than the submissions topic. The worker takes its records in batches.
struct BatchedTopic: Sendable {
    let name: String
    /// The properties of the topic's consumer. Each batched topic has its own consumer group, because members of one
    /// group that read different topics would cause needless rebalances.
    let consumerProperties: KafkaProperties
    /// The names of the topic's loop. Health watches `part`, and reports failures of `failingPart`. The process stops
    /// if `endlessPart` ends.
    let part: Health.Part
    let failingPart: FailingPart
    let endlessPart: EndlessPart
    /// The log message about a record that becomes a dead letter.
    let invalid: StaticString
}

/// Works on batches of a topic's records.
protocol BatchedTopicWorker: Sendable {
    var topic: BatchedTopic { get }
    var publisher: OutcomePublisher { get }
    var metrics: PipelineMetrics { get }
    var logger: Logger { get }

    /// Works on a batch. Returns when all effects of its records are durable, in the database or as acknowledged dead
    /// letters. Throws the database's error if PostgreSQL cannot be reached. Throws `Abandoned` if the publisher closes
    /// or the task is cancelled. After an error the loop may pass the batch again.
    /// - Returns: the history of the database that stores the batch's effects; nil if no database does.
    func work(on records: [ConsumerRecord]) async throws -> DatabaseHistory?

    /// Publishes the record as a dead letter, and returns when the broker has acknowledged it. For an unreadable batch,
    /// `record` has only the partition and the batch's first offset.
    func bury(_ record: ConsumerRecord, _ letter: DeadLetter) async throws
}

extension BatchedTopicWorker {
    func bury(_ record: ConsumerRecord, _ letter: DeadLetter) async throws {
        let fields = try await published(letter, of: record)
        logger.warning(topic.invalid, fields)
    }

    /// Publishes the dead letter, and waits for the broker's acknowledgement. Returns the fields for the log.
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
    /// The dead letter for a record whose data PostgreSQL refuses, for example a text with a NUL.
    static let refusedByDatabase = DeadLetter(
        reason: .malformedMessage, detail: "PostgreSQL refuses the data in this record")
}

extension ConsumerRecord {
    /// The record's position, with the time of the record and the digest of its value.
    var position: RecordPosition {
        RecordPosition(
            topic: topicPartition.topic, partition: topicPartition.partition, offset: offset,
            timestamp: Timestamp(milliseconds: timestampMilliseconds ?? 0), content: Digest256(hashing: value ?? []))
    }

    /// Returns the values of all headers named `header`.
    func values(of header: String) -> [[UInt8]] {
        headers.filter { $0.name == header }.compactMap(\.value)
    }
}

enum BatchedTopicLimits {
    /// The most records in one SQL transaction.
    static let batch = 200
    /// The seconds that a batch may take before the loop leaves the group. Kafka would remove the member after five
    /// minutes.
    static let batchSeconds = 60.0
    /// The seconds before the loop joins the group again.
    static let pauseSeconds = 5.0
    /// The seconds that the loop waits for other readers of records (members of the `IsolationTurn`) to let it work,
    /// before it gives up a batch.
    static let turnSeconds = 60.0
    /// The seconds between two tries of a batch.
    static let retrySeconds = 0.5
    static let commitSeconds = 3.0
    /// The milliseconds that a poll waits for a record. `stop` does not end the wait.
    static let pollMilliseconds: Int32 = 500
    /// The longest time, in milliseconds, for a request to Kafka for committed offsets. `watermarkMilliseconds` is the
    /// longest time for watermarks.
    static let committedMilliseconds: Int32 = 5000
    static let watermarkMilliseconds: Int32 = 5000
}
