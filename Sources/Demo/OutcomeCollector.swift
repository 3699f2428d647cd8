import Encodings
import Foundation
import Fulfillment
import Kafka
import Synchronization

/// Reads events and dead letters on its own thread, and sorts them by case.
final class OutcomeCollector: Sendable {
    struct Collected: Sendable {
        /// The events of each case, in the order of reading. If Kafka has an event twice, the event appears twice.
        var events: [String: [JSONValue]] = [:]
        var deadLetters: [String: [ConsumerRecord]] = [:]
    }

    /// The key for dead letters whose record has no key.
    static let withoutKey = "-"

    private struct State {
        var collected = Collected()
        var isStopped = false
    }

    private let state = Mutex(State())
    private let seen: @Sendable (_ record: ConsumerRecord, _ isOutcome: Bool) -> Void

    var collected: Collected { state.withLock { $0.collected } }

    /// Starts to read at the present ends of the topics.
    /// - Parameter seen: called with each record on the reading thread.
    init(
        outcomesTopic: String, deadLettersTopic: String, properties: KafkaProperties,
        seen: @escaping @Sendable (_ record: ConsumerRecord, _ isOutcome: Bool) -> Void = { _, _ in }
    ) throws {
        self.seen = seen
        let reader = try Reader(topics: [outcomesTopic, deadLettersTopic], properties: properties)
        let thread = Thread { [weak self] in
            while let self, !self.state.withLock({ $0.isStopped }) {
                guard case .record(let record)? = reader.consumer.poll(timeoutMilliseconds: 50) else { continue }
                self.take(record, isOutcome: record.topicPartition.topic == outcomesTopic)
            }
            reader.consumer.close()
        }
        thread.start()
    }

    func stop() {
        state.withLock { $0.isStopped = true }
    }

    private func take(_ record: ConsumerRecord, isOutcome: Bool) {
        seen(record, isOutcome)
        let json = isOutcome ? try? JSONParser.parse(record.value ?? []).value : nil
        let name =
            isOutcome
            ? json?["player_id"]?.string : record.key.map { String(decoding: $0, as: UTF8.self) } ?? Self.withoutKey
        guard let caseName = name?.split(separator: "/").first.map(String.init) else { return }
        state.withLock { state in
            if let json {
                state.collected.events[caseName, default: []].append(json)
            } else {
                state.collected.deadLetters[caseName, default: []].append(record)
            }
        }
    }

    /// `@unchecked Sendable`: one thread makes the reader, and passes it to the reading thread. From then on only that
    /// thread uses it.
    private final class Reader: @unchecked Sendable {
        let consumer: KafkaConsumer

        init(topics: [String], properties: KafkaProperties) throws {
            var properties = properties
            properties["group.id"] = "seed-reader"
            consumer = try KafkaConsumer(properties: properties, log: { _ in })
            var starts: [TopicPartition: Int64] = [:]
            for topic in topics {
                let metadata = try consumer.metadata(topic: topic, timeoutMilliseconds: 10_000)
                for partition in metadata.topics[topic] ?? [] {
                    let key = TopicPartition(topic: topic, partition: partition)
                    starts[key] = try consumer.watermarks(key, timeoutMilliseconds: 10_000).high
                }
            }
            try consumer.assign(starts)
        }
    }
}
