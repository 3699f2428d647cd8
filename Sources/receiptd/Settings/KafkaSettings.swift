import Kafka

struct KafkaSettings: Sendable {
    /// `host:port`, comma separated. Empty where the command does not require Kafka and none is set.
    var bootstrapServers = ""
    var groupID = "receiptd"
    /// Further librdkafka properties, in the order given. Their values may be secrets.
    var properties = KafkaProperties()
    var submissionsTopic = "receipt-submissions"
    var outcomesTopic = "receipt-outcomes"
    var deadLettersTopic = "receipt-dead-letters"
    var notificationsTopic = "app-store-notifications"
    /// Members of one group that read different topics would rebalance one another.
    var notificationsGroupID: String { groupID + "-notifications" }
}
