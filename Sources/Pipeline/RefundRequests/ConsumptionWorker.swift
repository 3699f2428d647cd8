import Fulfillment
import Kafka
import Logging
import Operations

/// The topic on which the game server reports consumption.
public struct ConsumptionSource: Sendable {
    public let topic: String
    /// The properties of the topic's consumer, which has a group of its own.
    public let consumerProperties: KafkaProperties

    public init(topic: String, consumerProperties: KafkaProperties) {
        self.topic = topic
        self.consumerProperties = consumerProperties
    }
}

/// Decodes a batch of the game server's reports, and stores them in the database.
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
            failingPart: .consumption, endlessPart: .consumptionLoop,
            invalid: "invalid consumption report sent to the dead-letter topic")
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
            try await bury(one.record, .refusedByDatabase)
        }
        return entered.history
    }
}
