import Fulfillment
import Kafka
import Logging
import NamesAndTimes
import Operations

/// The topic on which the game server names the players of account tokens, and the store of those players.
public struct PlayerAccountSource: Sendable {
    public let topic: String
    /// The properties of the topic's consumer, which has a group of its own.
    public let consumerProperties: KafkaProperties
    public let accounts: any PlayerAccounts

    public init(topic: String, consumerProperties: KafkaProperties, accounts: any PlayerAccounts) {
        self.topic = topic
        self.consumerProperties = consumerProperties
        self.accounts = accounts
    }
}

/// Stores a batch of records that name the players of account tokens.
struct PlayerAccountWorker: BatchedTopicWorker {
    let source: PlayerAccountSource
    let decoder: PlayerAccountDecoder
    let publisher: OutcomePublisher
    let metrics: PipelineMetrics
    let logger: Logger

    var topic: BatchedTopic {
        BatchedTopic(
            name: source.topic, consumerProperties: source.consumerProperties, part: .accountLoop,
            failingPart: .accounts, endlessPart: .accountLoop,
            invalid: "invalid player-accounts record sent to the dead-letter topic")
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
            try await bury(one.record, .refusedByDatabase)
        }
        return applied.history
    }
}
