import Fulfillment
import Kafka
import Synchronization
import TestSupport

@testable import Pipeline

/// Topics without records, for notifications, accounts and consumption reports. They are on their own cluster. So the
/// errors that a test injects into the submissions' cluster reach only the submissions' consumer.
enum NoNotifications {
    private static let topic = "app-store-notifications"
    private static let accountsTopic = "player-accounts"
    private static let consumptionTopic = "receipt-consumption"
    private static let cluster = Result {
        try MockCluster(topics: [topic: 1, accountsTopic: 1, consumptionTopic: 1])
    }
    private static let groups = Atomic(0)

    static func source(_ notices: any NoticeLedger) throws -> NotificationSource {
        NotificationSource(
            topic: topic, consumerProperties: try consumer(), parser: ScriptedNotifications(), notices: notices)
    }

    /// Makes a source of accounts whose topic has no records.
    static func accounts(_ accounts: any PlayerAccounts) throws -> PlayerAccountSource {
        PlayerAccountSource(topic: accountsTopic, consumerProperties: try consumer(), accounts: accounts)
    }

    static func consumption() throws -> ConsumptionSource {
        ConsumptionSource(topic: consumptionTopic, consumerProperties: try consumer())
    }

    /// Returns the properties of a consumer with its own group.
    private static func consumer() throws -> KafkaProperties {
        var properties = PipelineBench.properties(try cluster.get())
        let group = groups.add(1, ordering: .relaxed).newValue
        for (name, value) in [
            ("group.id", "notifications-\(group)"), ("enable.auto.commit", "false"), ("auto.offset.reset", "earliest"),
        ] { properties[name] = value }
        return properties
    }
}
