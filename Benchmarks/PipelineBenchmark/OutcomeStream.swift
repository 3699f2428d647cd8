import Foundation
import Kafka
import Synchronization

/// Reads the outcomes topic on a thread of its own, and keeps the number of events and the time of each.
///
/// An event's time is the record's timestamp, which the producer sets, so a late reader does not distort it.
final class OutcomeStream: Sendable {
    private struct State {
        var count = 0
        var firstMilliseconds: Int64 = 0
        var lastMilliseconds: Int64 = 0
        var timesByPlayer: [String: Int64] = [:]
        var isStopped = false
    }

    private let state = Mutex(State())

    init(topic: String, partitions: Int32, bootstrapServers: String) {
        let thread = Thread { [weak self] in
            guard
                let consumer = try? KafkaConsumer(
                    properties: KafkaProperties([
                        ("bootstrap.servers", bootstrapServers), ("group.id", "benchmark-reader"),
                        ("fetch.wait.max.ms", "10"),
                    ]), log: { _ in })
            else { return }
            let starts = (0..<partitions).map { (TopicPartition(topic: topic, partition: $0), Int64(0)) }
            try? consumer.assign(Dictionary(uniqueKeysWithValues: starts))
            while let self, !self.state.withLock({ $0.isStopped }) {
                guard case .record(let record)? = consumer.poll(timeoutMilliseconds: 20) else { continue }
                self.take(record)
            }
            consumer.close()
        }
        thread.start()
    }

    var count: Int { state.withLock { $0.count } }
    /// The seconds from the first event since the last reset to the newest one.
    var seconds: Double { state.withLock { Double($0.lastMilliseconds - $0.firstMilliseconds) / 1000 } }
    func time(of player: String) -> Int64? { state.withLock { $0.timesByPlayer[player] } }

    func reset() {
        state.withLock { $0 = State() }
    }

    func stop() {
        state.withLock { $0.isStopped = true }
    }

    private func take(_ record: ConsumerRecord) {
        let time = record.timestampMilliseconds ?? 0
        let player = record.key.map { String(decoding: $0, as: UTF8.self) } ?? ""
        state.withLock { state in
            state.count += 1
            if state.firstMilliseconds == 0 { state.firstMilliseconds = time }
            state.firstMilliseconds = min(state.firstMilliseconds, time)
            state.lastMilliseconds = max(state.lastMilliseconds, time)
            state.timesByPlayer[player] = time
        }
    }
}
