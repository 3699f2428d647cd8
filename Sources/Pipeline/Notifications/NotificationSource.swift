import Fulfillment
import Kafka

/// Where Apple's notifications come from, and what they go to.
public struct NotificationSource: Sendable {
    public let topic: String
    /// Of a group of their own: members of one group that read different topics would rebalance one another.
    public let consumerProperties: KafkaProperties
    public let parser: any NotificationParser
    public let refunds: any RefundLedger

    public init(
        topic: String, consumerProperties: KafkaProperties, parser: any NotificationParser,
        refunds: any RefundLedger
    ) {
        self.topic = topic
        self.consumerProperties = consumerProperties
        self.parser = parser
        self.refunds = refunds
    }
}

enum NotificationLimits {
    /// Records in one SQL transaction.
    static let batch = 200
    /// How long a batch may take before the loop leaves the group: Kafka would throw it out after five minutes.
    static let batchSeconds = 60.0
    /// Before the group is joined again.
    static let pauseSeconds = 5.0
    /// Between two tries of a batch.
    static let retrySeconds = 0.5
    static let commitSeconds = 3.0
    /// For the group's offsets, and for a partition's ends.
    static let committedMilliseconds: Int32 = 5000
    static let watermarkMilliseconds: Int32 = 2000
    /// Between two warnings of the same trouble.
    static let warningSeconds = 300.0
}
