import Fulfillment
import Kafka
import Operations

extension NotificationWorker: BatchedTopicWorker {
    var topic: BatchedTopic {
        BatchedTopic(
            name: source.topic, consumerProperties: source.consumerProperties, part: .notificationLoop,
            failingPart: .notifications, endlessPart: .notificationLoop,
            invalid: "invalid notification sent to the dead-letter topic")
    }

    func work(on records: [ConsumerRecord]) async throws -> DatabaseHistory? {
        try await work(on: records.map { ReceivedNotification(record: $0, source: .notification) })
    }

    func bury(_ record: ConsumerRecord, _ letter: DeadLetter) async throws {
        try await bury(record, letter, Self.unreadable)
    }
}
