import Foundation
import Fulfillment
import Kafka
import Logging
import Operations
import TestSupport
import Testing

@testable import Pipeline

@Suite("Batches of notifications that the worker cannot read")
struct UnreadableNotificationTests {
    private static let topic = "apple-notifications"
    private let place = TopicPartition(topic: topic, partition: 0)

    /// A notification loop on its own thread.
    private final class Running: Sendable {
        let loop: BatchedTopicLoop
        let publisher: OutcomePublisher
        let log: RecordedLog
        private let ended = DispatchGroup()

        init(_ cluster: MockCluster, _ checkpoints: InMemoryCheckpoints, changes: ChangeSignal) throws {
            log = RecordedLog(changes: changes)
            let settings = PipelineBench.settings(cluster)
            let health = Health()
            let logger = Logger(label: "test") { [log] _ in log }
            publisher = try OutcomePublisher(settings: settings, health: health, logger: logger)
            var properties = settings.consumerProperties
            properties["group.id"] = "receiptd-notifications"
            loop = BatchedTopicLoop(
                worker: NotificationWorker(
                    source: NotificationSource(
                        topic: topic, consumerProperties: properties, parser: ScriptedNotifications(),
                        notices: InMemoryLedger()),
                    catalog: { Sample.catalog }, publisher: publisher,
                    ledger: ObservedLedger(changes: changes), queries: InMemoryStoreQueries(),
                    metrics: PipelineMetrics(ReceiptdMetrics(version: "test")), logger: logger),
                checkpoints: checkpoints, turn: IsolationTurn(), health: health, logger: logger)
            ended.enter()
            Thread.detachNewThread { [loop, ended] in
                loop.run()
                ended.leave()
            }
        }

        func stop() async throws {
            loop.stop()
            try await blocking { [ended, publisher] in
                ended.wait()
                publisher.close()
            }
        }
    }

    private func letters(_ collector: Collector) -> [String] {
        collector.all(Sample.deadLetters).map { record in
            ["reason", "offset", "last-offset"].map { record.header("dead-letter-\($0)") ?? "-" }.joined(separator: " ")
        }
    }

    @Test(
        "if the worker cannot read a batch of notifications, it writes one dead letter, and reads the later records",
        .timeLimit(.minutes(5)))
    func steppedOver() async throws {
        let cluster = try MockCluster(topics: [Self.topic: 1, Sample.outcomes: 1, Sample.deadLetters: 1])
        let changes = ChangeSignal()
        let collector = Collector(cluster, topics: [Sample.deadLetters: 1], changes: changes)
        let producer = try KafkaProducer(properties: PipelineBench.properties(cluster), log: { _ in })
        let readable = ProducerRecord(topic: Self.topic, partition: 0, value: [1])
        _ = try await producer.send(readable)
        try await blocking { [place] in
            try RawBatch(codec: .gzip, count: 5, records: Array("these are no compressed records".utf8))
                .produce(to: place, bootstrapServers: cluster.bootstrapServers)
        }
        #expect(try await producer.send(readable).offset == 6)
        let checkpoints = InMemoryCheckpoints(submissions: Self.topic, changes: changes)
        let first = try Running(cluster, checkpoints, changes: changes)
        let expected = ["malformed_message 0 -", "unreadable_batch 1 5", "malformed_message 6 -"]
        try await changes.until("the dead letters") { letters(collector) == expected }
        try await changes.until("the checkpoint") { checkpoints[0] == 7 }
        try await eventually("the commit behind it") { try await committed(cluster) == 7 }
        #expect(first.log.holds("error the worker skips a batch that it cannot read"))
        try await first.stop()

        // The next owner begins behind the unreadable batch.
        _ = try await producer.send(readable)
        let second = try Running(cluster, checkpoints, changes: changes)
        try await changes.until("the checkpoint of the next owner") { checkpoints[0] == 8 }
        try await eventually("the commit behind it") { try await committed(cluster) == 8 }
        try await changes.until("the dead letter of the next owner") {
            letters(collector) == expected + ["malformed_message 7 -"]
        }
        try await second.stop()
        try await collector.close()
        try await blocking {
            producer.close()
            cluster.close()
        }
    }

    private func committed(_ cluster: MockCluster) async throws -> Int64? {
        var properties = PipelineBench.settings(cluster).consumerProperties
        properties["group.id"] = "receiptd-notifications"
        return try await blocking { [properties, place] in
            let reader = try KafkaConsumer(properties: properties, log: { _ in })
            defer { reader.close() }
            return try reader.committed([place], timeoutMilliseconds: 20_000)[place]
        }
    }
}
