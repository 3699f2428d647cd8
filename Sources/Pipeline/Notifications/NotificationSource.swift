import Fulfillment
import Kafka

/// The source of Apple's notifications, and the parts that they go to.
public struct NotificationSource: Sendable {
    public let topic: String
    /// The properties of its consumer, which has a group of its own: members of one group that read different topics
    /// would rebalance one another.
    public let consumerProperties: KafkaProperties
    public let parser: any NotificationParser
    public let notices: any NoticeLedger
    /// Nil: Apple is not asked.
    public let history: NotificationHistorySource?

    public init(
        topic: String, consumerProperties: KafkaProperties, parser: any NotificationParser,
        notices: any NoticeLedger, history: NotificationHistorySource? = nil
    ) {
        self.topic = topic
        self.consumerProperties = consumerProperties
        self.parser = parser
        self.notices = notices
        self.history = history
    }
}
