import Kafka

package struct KafkaSettings: Sendable {
    /// `host:port`, comma separated. Empty where the command does not require Kafka and none is set.
    package var bootstrapServers = ""
    package var groupID = "receiptd"
    /// Further librdkafka properties, in the order given. Their values may be secrets.
    package var properties = KafkaProperties()
    package var submissionsTopic = "receipt-submissions"
    package var outcomesTopic = "receipt-outcomes"
    package var deadLettersTopic = "receipt-dead-letters"
    package var notificationsTopic = "app-store-notifications"
    package var accountsTopic = "player-accounts"
    package var consumptionTopic = "receipt-consumption"
    /// Members of one group that read different topics would rebalance one another.
    package var notificationsGroupID: String { groupID + "-notifications" }
    package var accountsGroupID: String { groupID + "-accounts" }
    package var consumptionGroupID: String { groupID + "-consumption" }

    /// The topics beside the submissions: a dead letter of any goes back to its own.
    package var batchedTopics: Set<String> { [notificationsTopic, accountsTopic, consumptionTopic] }

    package init() {}
}
