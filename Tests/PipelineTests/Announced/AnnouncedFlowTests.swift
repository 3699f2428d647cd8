import Foundation
import Fulfillment
import Kafka
import Logging
import NamesAndTimes
import Operations
import TestSupport
import Testing

@testable import Pipeline

@Suite("Unclaimed announced purchases, and the records that name a token's player", OnePipeline())
struct AnnouncedFlowTests {
    private static let boughtAt = Timestamp(milliseconds: 1_795_167_000_000)
    private static let token = "1a2b3c4d-0000-4000-8000-000000000001"

    private static func told(_ id: String) throws -> AnnouncedPurchase {
        let purchase = StorePurchase(
            transactionID: Identifier(id), originalTransactionID: Identifier(id), productID: Sample.product,
            purchasedAt: boughtAt, appAccountToken: token)
        return try #require(
            AnnouncedPurchase(
                evidence: GenuineReceipt(bundleID: Sample.bundle, environment: .production, purchases: [purchase]),
                source: .notification, name: Identifier("uuid-\(id)"), toldAt: boughtAt, isRenewal: false))
    }

    private static var granting: Catalog {
        var app = AppPolicy(bundleID: Sample.bundle)
        app.products = [Sample.product: Product(id: Sample.product, kind: .consumable)]
        app.announcements.missedPurchases = .grant
        return Catalog(version: 2, apps: [app])
    }

    @Test(
        "once the game names an account token's player, the worker grants the player the token's unclaimed purchase",
        .timeLimit(.minutes(2)))
    func granted() async throws {
        let bench = try PipelineBench()
        bench.catalog.update { $0 = Self.granting }
        bench.ledger.database.announce([try Self.told("1000")])
        bench.ledger.database.endPatience()
        let running = try bench.start()
        try await bench.changes.until("it is unclaimed") { bench.ledger.database.isUnclaimed("1000") }
        _ = try await bench.ledger.database.apply([
            ReceivedAccount(
                PlayerAccount(
                    token: AccountTokenKey(bundleID: Sample.bundle, token: Self.token), player: "player-1"),
                partition: 0, offset: 0, timestamp: Self.boughtAt)
        ])
        try await bench.changes.until("its event") { !bench.collector.all(Sample.outcomes).isEmpty }
        let event = try #require(bench.collector.all(Sample.outcomes).first)
        #expect(event.header("ce_type") == "receipt.granted" && event.text.contains(#""player_id":"player-1""#))
        #expect(event.text.contains(#""source":"notification""#))
        try await bench.changes.until("its outbox row is gone") { bench.ledger.database.pendingEvents.isEmpty }
        try await running.stop()
        let unclaimed =
            #"receiptd_announced_total{source="notification",outcome="unclaimed",reason="unknown_player"} 1"#
        #expect(running.metrics.registry.render().contains(unclaimed))
        #expect(bench.collector.all(Sample.outcomes).count == 1)
        try await bench.close()
    }

    /// A loop of players' accounts on its own thread.
    private final class Accounts: Sendable {
        static let topic = "player-accounts"
        let loop: BatchedTopicLoop
        private let publisher: OutcomePublisher
        private let ended = DispatchGroup()

        init(
            _ cluster: MockCluster, _ ledger: InMemoryLedger, keys: [String], group: String = "receiptd-accounts",
            behind losses: LeaseGate? = nil
        ) throws {
            let settings = PipelineBench.settings(cluster)
            let health = Health()
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            publisher = try OutcomePublisher(settings: settings, health: health, logger: logger)
            var properties = settings.consumerProperties
            properties["group.id"] = group
            loop = BatchedTopicLoop(
                worker: PlayerAccountWorker(
                    source: PlayerAccountSource(
                        topic: Self.topic, consumerProperties: properties, accounts: ledger),
                    decoder: PlayerAccountDecoder(signingKeys: keys), publisher: publisher,
                    metrics: PipelineMetrics(ReceiptdMetrics(version: "test")), logger: logger),
                checkpoints: InMemoryCheckpoints(), turn: IsolationTurn(), behind: losses, health: health,
                logger: logger)
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

    @Test(
        "a signed account record sets an account token's player; an unsigned or malformed record becomes a dead letter",
        .timeLimit(.minutes(2)))
    func accounts() async throws {
        let cluster = try MockCluster(topics: [Accounts.topic: 1, Sample.outcomes: 1, Sample.deadLetters: 1])
        let changes = ChangeSignal()
        let collector = Collector(cluster, topics: [Sample.deadLetters: 1], changes: changes)
        let producer = try KafkaProducer(properties: PipelineBench.properties(cluster), log: { _ in })
        let signature = RecordSignature(keys: ["secret"], of: .accounts)
        func send(_ key: String, _ value: String?, isSigned: Bool = true) async throws {
            let bytes = value.map { Array($0.utf8) }
            let header = bytes.flatMap { isSigned ? signature.header(ofKey: Array(key.utf8), value: $0) : nil }
            _ = try await producer.send(
                ProducerRecord(
                    topic: Accounts.topic, partition: 0, key: Array(key.utf8), value: bytes,
                    headers: header.map { [KafkaHeader(name: RecordSignature.headerName, value: $0)] } ?? [],
                    timestampMilliseconds: nil))
        }
        let key = "\(Sample.bundle.text)/\(Self.token)"
        try await send(key, #"{"player_id":"player-1"}"#)
        try await send(key, #"{"player_id":"mallory"}"#, isSigned: false)
        try await send("no token", #"{"player_id":"player-1"}"#)
        try await send(key, #"{"player":"player-1"}"#)
        let ledger = InMemoryLedger(changes: changes)
        let running = try Accounts(cluster, ledger, keys: ["secret"])
        try await changes.until("three dead letters") { collector.all(Sample.deadLetters).count == 3 }
        #expect(
            collector.all(Sample.deadLetters).map { $0.header("dead-letter-reason") }
                == ["bad_signature", "malformed_message", "malformed_message"])
        let token = AccountTokenKey(bundleID: Sample.bundle, token: Self.token)
        try await changes.until("the token is the player's") { ledger.player(of: token) == "player-1" }
        // A record with a null value needs no signature.
        try await send(key, nil)
        try await changes.until("the token is nobody's") { ledger.player(of: token) == nil }
        try await running.stop()
        try await collector.close()
        try await blocking {
            producer.close()
            cluster.close()
        }
    }

    @Test(
        "the worker reads no account record until it knows which decisions the database lost",
        .timeLimit(.minutes(2)))
    func waitsForLosses() async throws {
        let cluster = try MockCluster(topics: [Accounts.topic: 1, Sample.deadLetters: 1])
        let changes = ChangeSignal()
        let collector = Collector(cluster, topics: [Sample.deadLetters: 1], changes: changes)
        let producer = try KafkaProducer(properties: PipelineBench.properties(cluster), log: { _ in })
        _ = try await producer.send(
            ProducerRecord(
                topic: Accounts.topic, partition: 0, key: Array("no token".utf8), value: [], headers: [],
                timestampMilliseconds: nil))
        let losses = LeaseGate()
        let waiting = try Accounts(cluster, InMemoryLedger(changes: changes), keys: [], behind: losses)
        // Another group's loop does not wait. Without the gate, the first loop would join at the same time.
        let other = try Accounts(cluster, InMemoryLedger(changes: changes), keys: [], group: "other")
        try await changes.until("the other loop's dead letter") { !collector.all(Sample.deadLetters).isEmpty }
        try await other.stop()
        #expect(collector.all(Sample.deadLetters).count == 1)
        losses.open()
        try await changes.until("the waiting loop's dead letter") { collector.all(Sample.deadLetters).count == 2 }
        try await waiting.stop()
        try await collector.close()
        try await blocking {
            producer.close()
            cluster.close()
        }
    }
}
