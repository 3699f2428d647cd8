import Foundation
import Fulfillment
import Kafka
import Logging
import NamesAndTimes
import Operations
import TestSupport
import Testing

@testable import Pipeline

@Suite("Unread account records that Kafka deleted")
struct DeletedAccountsTests {
    private static let topic = "player-accounts"
    private static let token = "1a2b3c4d-0000-4000-8000-000000000001"
    /// Padding that fills a partition soon. The in-process broker keeps five megabytes, and drops the oldest batches.
    private static let padding = String(repeating: " ", count: 900_000)

    @Test(
        "if Kafka deletes unread account records, the next worker notes an incident with their count and offsets",
        .timeLimit(.minutes(2)))
    func counted() async throws {
        let cluster = try MockCluster(topics: [Self.topic: 1, Sample.outcomes: 1, Sample.deadLetters: 1])
        let changes = ChangeSignal()
        let ledger = InMemoryLedger(changes: changes)
        let checkpoints = InMemoryCheckpoints()
        let producer = try KafkaProducer(properties: PipelineBench.properties(cluster), log: { _ in })
        let token = AccountTokenKey(bundleID: Sample.bundle, token: Self.token)
        func send(_ player: String, _ padding: String = "") async throws {
            _ = try await producer.send(
                ProducerRecord(
                    topic: Self.topic, partition: 0, key: Array("\(Sample.bundle.text)/\(Self.token)".utf8),
                    value: Array(#"{"player_id":"\#(player)"}\#(padding)"#.utf8), headers: [],
                    timestampMilliseconds: nil))
        }
        /// Runs one process until the token belongs to the player, and returns the incidents that the process noted.
        func take(until player: PlayerID) async throws -> [Incidents.Entry] {
            let metrics = ReceiptdMetrics(version: "test")
            let (health, settings) = (Health(), PipelineBench.settings(cluster))
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            let publisher = try OutcomePublisher(settings: settings, health: health, logger: logger)
            let loop = BatchedTopicLoop(
                worker: PlayerAccountWorker(
                    source: PlayerAccountSource(
                        topic: Self.topic, consumerProperties: settings.consumerProperties, accounts: ledger),
                    decoder: PlayerAccountDecoder(), publisher: publisher, metrics: PipelineMetrics(metrics),
                    logger: logger),
                checkpoints: checkpoints, turn: IsolationTurn(), health: health, logger: logger)
            let ended = DispatchGroup()
            ended.enter()
            Thread.detachNewThread {
                loop.run()
                ended.leave()
            }
            try await changes.until("the token is \(player)'s") { ledger.player(of: token) == player }
            loop.stop()
            try await blocking {
                ended.wait()
                publisher.close()
            }
            return metrics.incidents.take()
        }
        try await send("first")
        #expect(try await take(until: "first").isEmpty)
        for _ in 1...9 { try await send("between", Self.padding) }
        try await send("last")
        let noted = try await take(until: "last")
        let lost = try #require(noted.first)
        #expect(noted.count == 1 && lost.kind == .deletedUnread && lost.count > 1)
        #expect(lost.subject == "\(Self.topic)/0: 1 to \(lost.count)")
        try await blocking {
            producer.close()
            cluster.close()
        }
    }
}
