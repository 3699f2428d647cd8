import Kafka

package struct KafkaSettings: Sendable {
    /// The brokers as `host:port`, separated by commas; empty if the setting is missing and the command needs no Kafka.
    package var bootstrapServers = ""
    package var groupID = "receiptd"
    /// The operator's librdkafka properties, in their order. Their values may be secret.
    package var properties = KafkaProperties()
    package var submissionsTopic = "receipt-submissions"
    package var outcomesTopic = "receipt-outcomes"
    package var deadLettersTopic = "receipt-dead-letters"
    package var notificationsTopic = "app-store-notifications"
    package var accountsTopic = "player-accounts"
    package var consumptionTopic = "receipt-consumption"
    /// Each topic that workers read beside the submissions topic has a consumer group of its own. In one group, a
    /// consumer of one topic would cause rebalances for the consumers of the other topics.
    package var notificationsGroupID: String { groupID + "-notifications" }
    package var accountsGroupID: String { groupID + "-accounts" }
    package var consumptionGroupID: String { groupID + "-consumption" }

    /// The topics beside the submissions topic. A redriven dead letter returns to the topic that it came from.
    package var batchedTopics: Set<String> { [notificationsTopic, accountsTopic, consumptionTopic] }

    package init() {}
}
