import Foundation
import Fulfillment
import Kafka
import Logging
import NamesAndTimes
import Operations
import TestSupport
import Testing

@testable import Pipeline

/// An in-process cluster with its topics, a ledger and a scripted Apple, on which a test starts any number of
/// pipelines.
final class PipelineBench: Sendable {
    static let submissionPartitions: Int32 = 8

    /// Every change of the doubles below, and every line of the pipelines' logs, raises this signal.
    let changes: ChangeSignal
    let ledger: ObservedLedger
    let verifier: ScriptedVerifier
    let outage: Outage
    let parked: InMemoryParking
    let checkpoints: InMemoryCheckpoints
    let collector: Collector

    let cluster: MockCluster
    let proofs = ScriptedProofs()
    let catalog = Shared(Sample.catalog)
    /// The logs of all pipelines that the test started, in order.
    private let logs = Shared<[RecordedLog]>([])
    private let producer: KafkaProducer
    private let adjust: @Sendable (inout PipelineSettings) -> Void

    /// A running pipeline.
    final class Running: Sendable {
        let pipeline: Pipeline
        let metrics: ReceiptdMetrics
        let health: Health
        let log: RecordedLog
        private let task: Task<Void, any Error>

        init(_ pipeline: Pipeline, _ metrics: ReceiptdMetrics, _ health: Health, _ log: RecordedLog) {
            self.pipeline = pipeline
            self.metrics = metrics
            self.health = health
            self.log = log
            task = Task { try await pipeline.run() }
        }

        /// Returns whether a part of the pipeline fails with the complaint, or failed a moment ago. The log gets a line
        /// when the failure begins.
        func fails(_ complaint: String) -> Bool {
            (health.failures.unmet + health.failures.notes).contains { $0.contains(complaint) }
        }

        func stop() async throws {
            pipeline.stop()
            try await task.value
        }
    }

    init(
        partitions: Int32 = submissionPartitions,
        adjust: @escaping @Sendable (inout PipelineSettings) -> Void = { _ in }
    ) throws {
        let changes = ChangeSignal()
        self.changes = changes
        ledger = ObservedLedger(changes: changes)
        verifier = .ofSamples(changes: changes)
        outage = .withAnswers(changes: changes)
        parked = InMemoryParking(changes: changes)
        checkpoints = InMemoryCheckpoints(changes: changes)
        cluster = try MockCluster(topics: [
            Sample.submissions: partitions, Sample.outcomes: 2, Sample.deadLetters: 1,
        ])
        self.adjust = adjust
        producer = try KafkaProducer(properties: Self.properties(cluster), log: { _ in })
        collector = Collector(cluster, topics: [Sample.outcomes: 2, Sample.deadLetters: 1], changes: changes)
    }

    static func properties(_ cluster: MockCluster) -> KafkaProperties {
        KafkaProperties([
            ("bootstrap.servers", cluster.bootstrapServers), ("reconnect.backoff.ms", "10"),
            ("reconnect.backoff.max.ms", "50"), ("linger.ms", "1"),
        ])
    }

    static func settings(_ cluster: MockCluster) -> PipelineSettings {
        var consumer = properties(cluster)
        for (name, value) in [
            ("group.id", "receiptd"), ("session.timeout.ms", "4000"), ("heartbeat.interval.ms", "300"),
            ("enable.auto.commit", "false"), ("auto.offset.reset", "earliest"), ("fetch.wait.max.ms", "20"),
        ] { consumer[name] = value }
        var settings = PipelineSettings(consumerProperties: consumer, producerProperties: properties(cluster))
        settings.retry = RetryDelay(initialSeconds: 0.05, maximumSeconds: 0.2, doubtSeconds: 0.1)
        settings.parkAfterSeconds = 2
        settings.shutdownGraceSeconds = 5
        return settings
    }

    /// - Parameter parked: a store that replaces the bench's own store of parked submissions.
    func start(parked: InMemoryParking? = nil) throws -> Running {
        var settings = Self.settings(cluster)
        adjust(&settings)
        let metrics = ReceiptdMetrics(version: "test")
        let log = RecordedLog(changes: changes)
        let logger = Logger(label: "test") { _ in log }
        let health = Health(failures: Failures(logger: logger))
        let catalog = catalog
        let pipeline = try Pipeline(
            settings: settings, catalog: { catalog.value },
            verification: PipelineVerification(
                parser: proofs, verifier: verifier, queries: InMemoryStoreQueries(), apple: outage),
            stores: PipelineStores(
                ledger: ledger, outbox: ledger, parked: parked ?? self.parked, holds: ledger.database,
                subscriptions: ledger.database, checkpoints: checkpoints, claims: ledger.database,
                announced: ledger.database,
                finishes: ledger.database, refundRequests: ledger.database),
            notifications: try NoNotifications.source(ledger.database),
            accounts: try NoNotifications.accounts(ledger.database),
            consumption: try NoNotifications.consumption(), metrics: metrics, health: health,
            logger: logger)
        logs.update { $0.append(log) }
        return Running(pipeline, metrics, health, log)
    }

    /// The last lines of each pipeline's log, for the error of a wait that ended at its limit.
    var lastLines: String {
        logs.value.map { $0.lines.suffix(25).joined(separator: "\n") }.joined(separator: "\nthe next pipeline:\n")
    }

    func close() async throws {
        try await collector.close()
        try await blocking { [producer, cluster] in
            producer.close()
            cluster.close()
        }
    }

    /// Sends a record and returns its offset.
    @discardableResult
    func send(
        _ value: [UInt8]?, partition: Int32, key: [UInt8]? = nil, headers: [KafkaHeader] = []
    ) async throws -> Int64 {
        try await producer.send(
            ProducerRecord(topic: Sample.submissions, partition: partition, key: key, value: value, headers: headers)
        ).offset
    }

    /// Sends a submission and returns its offset. Its id is the receipt's name unless `id` is given.
    @discardableResult
    func submit(
        _ name: String, player: String, partition: Int32, id: String? = nil, bundle: BundleID = Sample.bundle
    ) async throws -> Int64 {
        try await send(
            Sample.value(id: id ?? name, player: player, receipt: Sample.receipt(name), bundle: bundle),
            partition: partition)
    }

    /// Publishes an event as a worker outside the bench would.
    func publish(_ event: OutcomeEvent) async throws {
        let record = ProducerRecord(
            topic: Sample.outcomes, key: Array(event.playerID.text.utf8), value: event.value,
            headers: OutcomeHeaders.of(event, traceparent: nil))
        _ = try await producer.send(record)
    }

    /// Returns the player's events as `type subject`, in the order of the log.
    func answers(_ player: String) -> [String] {
        collector.all(Sample.outcomes).filter { $0.key == Array(player.utf8) }.map { record in
            "\(record.header("ce_type")?.split(separator: ".").last ?? "?") \(record.header("ce_subject") ?? "?")"
        }
    }

    /// Returns the offsets that the group has committed, by partition.
    func committed() async throws -> [Int32: Int64] {
        try await withConsumer { reader in
            let all = (0..<Self.submissionPartitions).map { TopicPartition(topic: Sample.submissions, partition: $0) }
            let offsets = try reader.committed(all, timeoutMilliseconds: 20_000)
            return Dictionary(offsets.map { ($0.key.partition, $0.value) }, uniquingKeysWith: { first, _ in first })
        }
    }

    /// Commits these offsets for the group, as a worker that has since died did.
    func commit(_ marks: [Int32: CommitMark]) async throws {
        try await withConsumer { writer in
            let pairs = marks.map { (TopicPartition(topic: Sample.submissions, partition: $0.key), $0.value) }
            try writer.commit(Dictionary(uniqueKeysWithValues: pairs), timeoutMilliseconds: 20_000)
        }
    }

    /// Gives `body` a consumer of the group that reads no partition.
    private func withConsumer<T: Sendable>(
        _ body: @escaping @Sendable (KafkaConsumer) throws -> T
    ) async throws -> T {
        let properties = Self.settings(cluster).consumerProperties
        return try await blocking {
            let consumer = try KafkaConsumer(properties: properties, log: { _ in })
            defer { consumer.close() }
            return try body(consumer)
        }
    }
}

/// A log handler that records a pipeline's lines as `level message`, and their details from librdkafka.
final class RecordedLog: LogHandler, Sendable {
    private struct Content {
        var lines: [String] = []
        var detail: [String] = []
    }

    private let content: Shared<Content>

    init(changes: ChangeSignal) { content = Shared(Content(), changes) }

    var lines: [String] { content.read(\.lines) }
    var detail: [String] { content.read(\.detail) }
    func holds(_ line: String) -> Bool { content.read { $0.lines.contains(line) } }

    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    var logLevel: Logger.Level {
        get { .debug }
        set {}
    }
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) {
        content.update { content in
            content.lines.append("\(event.level) \(event.message)")
            if let detail = event.metadata?["detail"] { content.detail.append("\(detail)") }
        }
    }
}

/// Gives all tests of a suite one running pipeline, because a join of the group takes three seconds.
struct OnePipeline: SuiteTrait, TestScoping {
    @TaskLocal static var bench: PipelineBench?
    @TaskLocal static var running: PipelineBench.Running?

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        let bench = try PipelineBench()
        let running = try bench.start()
        try await Self.$bench.withValue(bench) {
            try await Self.$running.withValue(running) { try await function() }
        }
        try await running.stop()
        try await bench.close()
    }
}
