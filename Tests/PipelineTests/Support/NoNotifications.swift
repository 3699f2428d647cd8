import Fulfillment
import Kafka
import Synchronization
import TestSupport

@testable import Pipeline

/// Apple's notifications, of which none comes. They have a cluster of their own, so that the errors that a test gives to
/// the submissions' cluster reach the consumer that it means.
enum NoNotifications: NotificationParser {
    case parser

    private static let topic = "app-store-notifications"
    private static let cluster = Result { try MockCluster(topics: [topic: 1]) }
    private static let groups = Atomic(0)

    /// Of a group of its own.
    static func source(_ refunds: any RefundLedger) throws -> NotificationSource {
        var properties = PipelineBench.properties(try cluster.get())
        let group = groups.add(1, ordering: .relaxed).newValue
        for (name, value) in [
            ("group.id", "notifications-\(group)"), ("enable.auto.commit", "false"), ("auto.offset.reset", "earliest"),
        ] { properties[name] = value }
        return NotificationSource(topic: topic, consumerProperties: properties, parser: Self.parser, refunds: refunds)
    }

    func parse(notification bytes: [UInt8]) -> NotificationReading { .unusable("no test sends one") }
}
