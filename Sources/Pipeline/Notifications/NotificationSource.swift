import Fulfillment
import Kafka

/// The topic of Apple's notifications, and the parts that work on them.
public struct NotificationSource: Sendable {
    public let topic: String
    /// The properties of the topic's consumer, which has a group of its own. Members of one group that read different
    /// topics would rebalance one another.
    public let consumerProperties: KafkaProperties
    public let parser: any NotificationParser
    public let notices: any NoticeLedger
    /// The way to ask for Apple's notification history; nil if the worker never asks.
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
