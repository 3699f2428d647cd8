import Kafka

package struct KafkaSettings: Sendable {
    /// The brokers as `host:port`, comma separated; empty if the setting is absent and the command needs no Kafka.
    package var bootstrapServers = ""
    package var groupID = "receiptd"
    /// Further librdkafka properties in the operator's order. Their values may be secrets.
    package var properties = KafkaProperties()
    package var submissionsTopic = "receipt-submissions"
    package var outcomesTopic = "receipt-outcomes"
    package var deadLettersTopic = "receipt-dead-letters"
    package var notificationsTopic = "app-store-notifications"
    package var accountsTopic = "player-accounts"
    package var consumptionTopic = "receipt-consumption"
    /// The further topics have groups of their own: members of one group with different topics would rebalance each
    /// other.
    package var notificationsGroupID: String { groupID + "-notifications" }
    package var accountsGroupID: String { groupID + "-accounts" }
    package var consumptionGroupID: String { groupID + "-consumption" }

    /// The topics beside the submissions. A dead letter of such a topic goes back to that topic.
    package var batchedTopics: Set<String> { [notificationsTopic, accountsTopic, consumptionTopic] }

    package init() {}
}
