import AppleProofs
import Fulfillment
import Kafka
import NamesAndTimes
import ReceiptdConfiguration

/// The app and the environment of a test notification (`TEST`), by which the check recognises it.
struct TestNotification: Hashable, Sendable {
    let bundleID: BundleID
    let environment: StoreEnvironment
}

/// Reads new records of the notifications topic, without joining a group.
struct NotificationTopic: Sendable {
    private static let answerMilliseconds: Int32 = 10_000

    let kafka: KafkaSettings
    let proofs: ProofReader

    /// Returns the end offset of each partition. Throws a `CommandFailure` if Kafka has no such topic or does not
    /// answer.
    func ends() async throws -> [TopicPartition: Int64] {
        let topic = kafka.notificationsTopic
        try await DeadLetterTopic.requireTopic(topic, properties)
        return try await blocking { [properties] in
            let consumer = try KafkaConsumer(properties: properties, log: { _ in })
            defer { consumer.close() }
            let known = try consumer.metadata(topic: topic, timeoutMilliseconds: Self.answerMilliseconds)
            let partitions = (known.topics[topic] ?? []).map { TopicPartition(topic: topic, partition: $0) }
            return try consumer.watermarks(partitions, timeoutMilliseconds: Self.answerMilliseconds).mapValues(\.high)
        }
    }

    /// Returns those notifications of `wanted` that arrive within `seconds`. Returns early once all have arrived.
    func wait(
        for wanted: Set<TestNotification>, from starts: [TopicPartition: Int64], seconds: Int
    ) async throws -> Set<TestNotification> {
        guard !wanted.isEmpty, !starts.isEmpty else { return [] }
        return try await blocking { [properties, proofs] in
            let consumer = try KafkaConsumer(properties: properties, log: { _ in })
            defer { consumer.close() }
            try consumer.assign(starts)
            let deadline = ContinuousClock.now + .seconds(seconds)
            var found: Set<TestNotification> = []
            while found != wanted, ContinuousClock.now < deadline {
                switch consumer.poll(timeoutMilliseconds: 100) {
                case .record(let record):
                    guard let test = Self.test(in: record, proofs), wanted.contains(test) else { continue }
                    found.insert(test)
                case .trouble(let error) where error.isFatal: throw error
                case .partitionEnd, .trouble, nil: continue
                }
            }
            return found
        }
    }

    private var properties: KafkaProperties { KafkaClientProperties(settings: kafka).consumer }

    /// Returns the test notification in a record. Nil if the record has another notification, or a notification without
    /// Apple's signature.
    private static func test(in record: ConsumerRecord, _ proofs: ProofReader) -> TestNotification? {
        guard let value = record.value, case .read(let notification) = proofs.parse(notification: value),
            notification.type == "TEST", let bundleID = notification.bundleID,
            let environment = notification.environment
        else { return nil }
        return TestNotification(bundleID: bundleID, environment: environment)
    }
}
