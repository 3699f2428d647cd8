import Foundation
import Kafka
import Synchronization

/// Runs blocking code on a thread of its own. The cooperative pool has only as many threads as cores, and other tests
/// need these threads.
func blocking<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { waiting in
        Thread.detachNewThread { waiting.resume(with: Result(catching: body)) }
    }
}

struct TimedOut: Error {}

/// Returns the properties of a client of the cluster, with short waits.
func properties(_ cluster: MockCluster, _ more: KeyValuePairs<String, String> = [:]) -> KafkaProperties {
    var properties = KafkaProperties([
        ("bootstrap.servers", cluster.bootstrapServers), ("reconnect.backoff.ms", "10"),
        ("reconnect.backoff.max.ms", "50"),
    ])
    for (name, value) in more { properties[name] = value }
    return properties
}

/// Returns the properties of a consumer that commits no offset by itself. Without a committed offset, the consumer
/// starts at the earliest record.
func consumerProperties(
    _ cluster: MockCluster, group: String = "readers", _ more: KeyValuePairs<String, String> = [:]
) -> KafkaProperties {
    var properties = properties(cluster)
    properties["group.id"] = group
    properties["session.timeout.ms"] = "4000"
    properties["heartbeat.interval.ms"] = "300"
    properties["enable.auto.commit"] = "false"
    properties["auto.offset.reset"] = "earliest"
    for (name, value) in more { properties[name] = value }
    return properties
}

let quiet: @Sendable (KafkaLogLine) -> Void = { _ in }

extension KafkaConsumer {
    /// Polls until the closure returns a value. Throws `TimedOut` if the closure returns nil for 20 s.
    func poll<Value>(until answer: (Polled?) throws -> Value?) throws -> Value {
        let deadline = ContinuousClock.now + .seconds(20)
        while ContinuousClock.now < deadline {
            if let value = try answer(poll(timeoutMilliseconds: 50)) { return value }
        }
        throw TimedOut()
    }

    func nextRecords(_ count: Int) throws -> [ConsumerRecord] {
        var records: [ConsumerRecord] = []
        return try poll { polled in
            if case .record(let record) = polled { records.append(record) }
            return records.count >= count ? records : nil
        }
    }
}

extension KafkaProducer {
    /// Sends `count` records with the texts 0, 1, ... to partition 0, one after the other.
    func sendNumbers(_ count: Int, topic: String) async throws {
        for number in 0..<count {
            _ = try await send(ProducerRecord(topic: topic, partition: 0, value: [UInt8](String(number).utf8)))
        }
    }
}

extension ConsumerRecord {
    var text: String? { value.map { String(decoding: $0, as: UTF8.self) } }
}

/// A value that many threads may write.
final class Shared<Value: Sendable>: Sendable {
    private let state: Mutex<Value>
    init(_ value: Value) { state = Mutex(value) }
    var value: Value { state.withLock { $0 } }
    func update(_ change: (inout sending Value) -> Void) { state.withLock { change(&$0) } }
}
