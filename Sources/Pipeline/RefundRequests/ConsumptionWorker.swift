import Fulfillment
import Kafka
import Logging
import NamesAndTimes
import Operations

/// Where the game reports what is used up of purchases.
public struct ConsumptionSource: Sendable {
    public let topic: String
    /// Of a group of their own: members of one group that read different topics would rebalance one another.
    public let consumerProperties: KafkaProperties

    public init(topic: String, consumerProperties: KafkaProperties) {
        self.topic = topic
        self.consumerProperties = consumerProperties
    }
}

/// What is done with a batch of the game's reports: read, and entered in the database.
struct ConsumptionWorker: BatchedTopicWorker {
    let source: ConsumptionSource
    let decoder: ConsumptionReportDecoder
    let store: any OpenRefundRequests
    let publisher: OutcomePublisher
    let metrics: PipelineMetrics
    let logger: Logger

    var topic: BatchedTopic {
        BatchedTopic(
            name: source.topic, consumerProperties: source.consumerProperties, part: .consumptionLoop,
            failingPart: .consumption, endlessPart: .consumptionLoop)
    }

    func work(on records: [ConsumerRecord]) async throws -> DatabaseHistory? {
        var read: [(record: ConsumerRecord, report: ConsumptionReport)] = []
        for record in records {
            let signatures = record.values(of: RecordSignature.headerName)
            switch decoder.decode(key: record.key, record.value, signatureHeaders: signatures) {
            case .report(let report): read.append((record, report))
            case .deadLetter(let letter): try await bury(record, letter)
            }
        }
        let entered = try await Suspected.waiting { try await store.enter(read.map(\.report)) }
        for (one, result) in zip(read, entered.value) where result == .refused {
            let detail = "the database refuses its data"
            try await bury(one.record, DeadLetter(reason: .malformedMessage, detail: detail))
        }
        return entered.history
    }

    /// Returns when the dead letter is acknowledged.
    func bury(_ record: ConsumerRecord, _ letter: DeadLetter) async throws {
        let place = record.topicPartition
        let position = RecordPosition(
            topic: place.topic, partition: place.partition, offset: record.offset,
            timestamp: Timestamp(milliseconds: record.timestampMilliseconds ?? 0),
            content: Digest256(hashing: record.value ?? []))
        try await publisher.publish(letter, of: record, position: position)
        metrics.deadLetter(letter.reason)
        logger.warning(
            "invalid consumption report sent to the dead-letter topic",
            [
                .topic: "\(place.topic)", .partition: .stringConvertible(place.partition),
                .offset: .stringConvertible(record.offset), .detail: "\(letter.detail)",
            ])
    }
}
