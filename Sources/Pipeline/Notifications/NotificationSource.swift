import Fulfillment
import Kafka

/// The topic of Apple's notifications, and the parts with which the worker processes them.
public struct NotificationSource: Sendable {
    public let topic: String
    /// The properties of the topic's consumer, which has a group of its own.
    public let consumerProperties: KafkaProperties
    public let parser: any NotificationParser
    public let notices: any NoticeLedger
    /// The source of Apple's notification history; nil if the worker never reads the history.
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
