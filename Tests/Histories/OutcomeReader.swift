import AppStoreSimulation
import Foundation
import HistoryModel
import Kafka
import Synchronization

/// Collects the notifications that Apple made and that no step has delivered yet.
final class Mail: Sendable {
    private let made = Mutex<[SignedNotification]>([])

    func add(_ notification: SignedNotification) { made.withLock { $0.append(notification) } }

    func take() -> [SignedNotification] {
        made.withLock { made in
            defer { made = [] }
            return made
        }
    }
}

/// Reads outcomes and dead letters on its own thread.
final class OutcomeReader: Sendable {
    private struct State {
        var seen = Seen()
        var isStopped = false
        var unread = 0
    }

    private let state = Mutex(State())

    var seen: Seen { state.withLock { $0.seen } }
    var count: Int { state.withLock { $0.seen.events.count } }

    init(prefix: String, partitions: Int32, properties: KafkaProperties) {
        Thread { [self] in
            var properties = properties
            for (name, value) in [
                ("group.id", prefix + "history-reader"), ("enable.auto.commit", "false"), ("fetch.wait.max.ms", "50"),
                ("reconnect.backoff.max.ms", "500"),
            ] {
                properties[name] = value
            }
            guard let consumer = try? KafkaConsumer(properties: properties, log: { _ in }) else { return }
            var starts: [TopicPartition: Int64] = [:]
            for topic in ["receipt-outcomes", "receipt-dead-letters"] {
                for partition in 0..<partitions {
                    starts[TopicPartition(topic: prefix + topic, partition: partition)] = 0
                }
            }
            try? consumer.assign(starts)
            while !state.withLock({ $0.isStopped }) {
                guard case .record(let record)? = consumer.poll(timeoutMilliseconds: 100) else { continue }
                take(record, isOutcome: record.topicPartition.topic == prefix + "receipt-outcomes")
            }
            consumer.close()
        }.start()
    }

    func stop() { state.withLock { $0.isStopped = true } }

    private func take(_ record: ConsumerRecord, isOutcome: Bool) {
        let place = Place(partition: record.topicPartition.partition, offset: record.offset)
        state.withLock { state in
            if isOutcome {
                if let event = Event(place: place, key: record.key, value: record.value) {
                    state.seen.events.append(event)
                }
                return
            }
            func header(_ name: String) -> String {
                record.headers.last { $0.name == name }?.value.map { String(decoding: $0, as: UTF8.self) } ?? ""
            }
            guard header("dead-letter-topic").hasSuffix("receipt-submissions") else {
                // The dead letter of a notification needs no position here, because the model judges the notification
                // by later events.
                state.seen.deadLetters.append(
                    DeadLetter(
                        reason: "notification \(header("dead-letter-detail"))",
                        place: Place(partition: -2, offset: record.offset)))
                return
            }
            state.seen.deadLetters.append(
                DeadLetter(
                    reason: header("dead-letter-reason"),
                    place: Place(
                        partition: Int32(header("dead-letter-partition")) ?? -1,
                        offset: Int64(header("dead-letter-offset")) ?? -1)))
        }
    }
}
