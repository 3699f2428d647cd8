import Foundation
import Kafka
import Synchronization
import TestSupport

/// Reads topics while they grow, without a consumer group.
final class Collector: Sendable {
    private let records: Shared<[ConsumerRecord]>
    private let isClosed = Atomic(false)
    private let ended = DispatchGroup()

    init(_ cluster: MockCluster, topics: [String: Int32], changes: ChangeSignal) {
        records = Shared([], changes)
        ended.enter()
        let bootstrap = cluster.bootstrapServers
        Thread.detachNewThread { [self] in
            defer { ended.leave() }
            let properties = KafkaProperties([
                ("bootstrap.servers", bootstrap), ("group.id", "collector"), ("enable.auto.commit", "false"),
                ("fetch.wait.max.ms", "20"),
            ])
            guard let consumer = try? KafkaConsumer(properties: properties, log: { _ in }) else { return }
            var starts: [TopicPartition: Int64] = [:]
            for (topic, count) in topics {
                for partition in 0..<count { starts[TopicPartition(topic: topic, partition: partition)] = -2 }
            }
            guard (try? consumer.assign(starts)) != nil else { return }
            while !isClosed.load(ordering: .relaxed) {
                if case .record(let record) = consumer.poll(timeoutMilliseconds: 50) {
                    records.update { $0.append(record) }
                }
            }
            consumer.close()
        }
    }

    func close() async throws {
        isClosed.store(true, ordering: .relaxed)
        try await blocking { [ended] in ended.wait() }
    }

    func all(_ topic: String) -> [ConsumerRecord] {
        records.read { records in records.filter { $0.topicPartition.topic == topic } }
    }
}

extension ConsumerRecord {
    var text: String { String(decoding: value ?? [], as: UTF8.self) }
    func header(_ name: String) -> String? {
        headers.last { $0.name == name }?.value.map { String(decoding: $0, as: UTF8.self) }
    }
}
