import Fulfillment
import Kafka
import Logging
import NamesAndTimes
import Operations

/// A topic beside the submissions whose records are taken a batch at a time.
struct BatchedTopic: Sendable {
    let name: String
    /// The properties of its consumer, which has a group of its own: members of one group that read different topics
    /// would rebalance one another.
    let consumerProperties: KafkaProperties
    /// The part that is watched, reported to fail, and must not end.
    let part: Health.Part
    let failingPart: FailingPart
    let endlessPart: EndlessPart
    /// The log's line about a record that is a dead letter.
    let invalid: StaticString
}

/// Works on batches of a topic's records.
protocol BatchedTopicWorker: Sendable {
    var topic: BatchedTopic { get }
    var publisher: OutcomePublisher { get }
    var metrics: PipelineMetrics { get }
    var logger: Logger { get }

    /// Done when everything of the batch is durable: in the database, or a dead letter that is acknowledged. Throws what
    /// the database throws while it is out of reach, `Abandoned` where the publisher closes or the task is cancelled; the
    /// batch may be given again then.
    ///
    /// Returns the history of the database that holds its effects, nil where it has none there.
    func work(on records: [ConsumerRecord]) async throws -> DatabaseHistory?

    /// Returns when the dead letter is acknowledged. Where it is of a batch that Kafka's client cannot read, `record` has
    /// its first offset and nothing else.
    func bury(_ record: ConsumerRecord, _ letter: DeadLetter) async throws
}

extension BatchedTopicWorker {
    func bury(_ record: ConsumerRecord, _ letter: DeadLetter) async throws {
        let fields = try await published(letter, of: record)
        logger.warning(topic.invalid, fields)
    }

    /// Returns when the dead letter is acknowledged: what the log tells of it.
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
    /// PostgreSQL takes no such data, as text that holds a NUL.
    static let refusedByDatabase = DeadLetter(reason: .malformedMessage, detail: "the database refuses its data")
}

extension ConsumerRecord {
    /// The place and content of a record that is no submission.
    var position: RecordPosition {
        RecordPosition(
            topic: topicPartition.topic, partition: topicPartition.partition, offset: offset,
            timestamp: Timestamp(milliseconds: timestampMilliseconds ?? 0), content: Digest256(hashing: value ?? []))
    }

    /// Returns the values of all headers of that name.
    func values(of header: String) -> [[UInt8]] {
        headers.filter { $0.name == header }.compactMap(\.value)
    }
}

enum BatchedTopicLimits {
    /// Records in one SQL transaction.
    static let batch = 200
    /// The time that a batch may take before the loop leaves the group: Kafka would throw it out after five minutes.
    static let batchSeconds = 60.0
    /// Before the group is joined again.
    static let pauseSeconds = 5.0
    /// The limit for the others' work to end before a record is isolated.
    static let turnSeconds = 60.0
    /// The seconds between two tries of a batch.
    static let retrySeconds = 0.5
    static let commitSeconds = 3.0
    /// The wait for a record; a record ends it, and `stop` does not.
    static let pollMilliseconds: Int32 = 500
    /// The limit for the group's offsets, and for a partition's ends.
    static let committedMilliseconds: Int32 = 5000
    static let watermarkMilliseconds: Int32 = 5000
}
