import Kafka
import Pipeline
import ReceiptdConfiguration

/// Reads the dead-letter topic up to its present end, without joining a group.
package struct DeadLetterTopic {
    private static let readMilliseconds: Int32 = 600_000

    private let settings: KafkaSettings

    package init(settings: KafkaSettings) {
        self.settings = settings
    }

    /// Calls `body` for each record, and returns the values that are not nil. Calls `body` for one record at a time, in
    /// order within each partition, on a thread that `body` may block. Throws a failure with exit code 69 if Kafka
    /// cannot be read.
    package func compactMap<Value: Sendable>(
        _ body: @escaping @Sendable (StoredDeadLetter) throws -> Value?
    ) async throws -> [Value] {
        let properties = KafkaClientProperties(settings: settings).consumer
        let topic = settings.deadLettersTopic
        try await Self.requireTopic(topic, properties)
        return try await blocking {
            var values: [Value] = []
            var failure: (any Error)?
            do throws(KafkaError) {
                try TopicReader.forEach(
                    topic: topic, properties: properties, timeoutMilliseconds: Self.readMilliseconds
                ) { record in
                    guard failure == nil else { return }
                    do {
                        if let value = try body(StoredDeadLetter(record)) { values.append(value) }
                    } catch {
                        failure = error
                    }
                }
            } catch {
                throw CommandFailure(
                    "the dead-letter topic cannot be read: \(error.name)", code: CommandFailure.unavailable)
            }
            if let failure { throw failure }
            return values
        }
    }

    /// Throws a failure with exit code 69 if Kafka does not answer, or has no such topic.
    package static func requireTopic(_ topic: String, _ properties: KafkaProperties) async throws {
        let found = try await blocking {
            let recorder = TroubleRecorder()
            let consumer = try KafkaConsumer(properties: properties, log: recorder.note)
            defer { consumer.close() }
            return try KafkaClusterMetadata.reach(recorder) { try consumer.metadata(timeoutMilliseconds: $0) }
        }
        guard found.topics[topic] != nil else {
            throw CommandFailure("there is no topic \(ShownText.quoted(topic))", code: CommandFailure.unavailable)
        }
    }
}
