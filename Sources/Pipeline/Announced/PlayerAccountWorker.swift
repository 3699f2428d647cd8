import Fulfillment
import Kafka
import Logging
import NamesAndTimes
import Operations

/// Where the game says whose account tokens are, and where that is kept.
public struct PlayerAccountSource: Sendable {
    public let topic: String
    /// Of a group of their own.
    public let consumerProperties: KafkaProperties
    public let accounts: any PlayerAccounts

    public init(topic: String, consumerProperties: KafkaProperties, accounts: any PlayerAccounts) {
        self.topic = topic
        self.consumerProperties = consumerProperties
        self.accounts = accounts
    }
}

/// What is done with a batch of records that say whose account tokens are.
struct PlayerAccountWorker: BatchedTopicWorker {
    let source: PlayerAccountSource
    let decoder: PlayerAccountDecoder
    let publisher: OutcomePublisher
    let metrics: PipelineMetrics
    let logger: Logger

    var topic: BatchedTopic {
        BatchedTopic(
            name: source.topic, consumerProperties: source.consumerProperties, part: .accountLoop,
            failingPart: .accounts, endlessPart: .accountLoop)
    }

    func work(on records: [ConsumerRecord]) async throws -> DatabaseHistory? {
        var received: [(record: ConsumerRecord, account: ReceivedAccount)] = []
        for record in records {
            switch decoder.decode(
                key: record.key, value: record.value,
                signatureHeaders: record.values(of: RecordSignature.headerName))
            {
            case .deadLetter(let letter): try await bury(record, letter)
            case .account(let account):
                received.append(
                    (
                        record,
                        ReceivedAccount(
                            account, partition: record.topicPartition.partition, offset: record.offset,
                            timestamp: Timestamp(milliseconds: record.timestampMilliseconds ?? 0))
                    ))
            }
        }
        let applied = try await Suspected.waiting { try await source.accounts.apply(received.map(\.account)) }
        for (one, outcome) in zip(received, applied.value) where outcome == .refused {
            try await bury(
                one.record, DeadLetter(reason: .malformedMessage, detail: "the database refuses its data"))
        }
        return applied.history
    }

    /// Returns when the dead letter is acknowledged.
    func bury(_ record: ConsumerRecord, _ letter: DeadLetter) async throws {
        try await publisher.publish(letter, of: record, position: record.position)
        metrics.deadLetter(letter.reason)
        logger.warning(
            "invalid player-accounts record sent to the dead-letter topic",
            [
                .topic: "\(record.topicPartition.topic)",
                .partition: .stringConvertible(record.topicPartition.partition),
                .offset: .stringConvertible(record.offset), .detail: "\(letter.detail)",
            ])
    }
}

extension ConsumerRecord {
    /// Its place and content, for a record that is no submission.
    var position: RecordPosition {
        RecordPosition(
            topic: topicPartition.topic, partition: topicPartition.partition, offset: offset,
            timestamp: Timestamp(milliseconds: timestampMilliseconds ?? 0), content: Digest256(hashing: value ?? []))
    }

    /// Of all its headers of that name.
    func values(of header: String) -> [[UInt8]] {
        headers.filter { $0.name == header }.compactMap(\.value)
    }
}
