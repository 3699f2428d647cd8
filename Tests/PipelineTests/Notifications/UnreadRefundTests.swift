import Fulfillment
import Kafka
import Logging
import NamesAndTimes
import Operations
import TestSupport
import Testing

@testable import Pipeline

@Suite("Refund notifications with an unreadable percentage")
struct UnreadRefundTests {
    private static let topic = "app-store-notifications"
    private static let refundedAt = Timestamp(milliseconds: 1_795_168_000_000)
    private static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private static func told(milliPercent: Int32? = nil) -> NotifiedTransaction {
        var purchase = StorePurchase(
            transactionID: "1000", originalTransactionID: "1000", productID: Sample.product,
            purchasedAt: Timestamp(milliseconds: 1_795_167_000_000))
        purchase.cancelledAt = refundedAt
        purchase.refundedMilliPercent = milliPercent
        if milliPercent == nil { purchase.unreadable = ["revocationPercentage"] }
        return NotifiedTransaction(
            purchase: purchase, kind: .consumable, bundleID: Sample.bundle, environment: .production)
    }

    private static let notification = StoreNotification(
        id: "n-1", type: "REFUND", signedAt: refundedAt, bundleID: Sample.bundle, environment: .production,
        transaction: .told(told()))

    private static func catalog(withAPI: Bool) -> Catalog {
        var app = AppPolicy(bundleID: Sample.bundle)
        if withAPI { app.serverAPI = ServerAPICredentials(issuerID: "i", keyID: "k", privateKeySetting: "S") }
        return Catalog(version: 1, apps: [app])
    }

    /// Returns whether the ledger has the refund, and the number of dead letters.
    private func outcome(_ queries: InMemoryStoreQueries, withAPI: Bool) async throws -> (isTaken: Bool, letters: Int) {
        let cluster = try MockCluster(topics: [Sample.outcomes: 1, Sample.deadLetters: 1])
        let changes = ChangeSignal()
        let collector = Collector(cluster, topics: [Sample.deadLetters: 1], changes: changes)
        let publisher = try OutcomePublisher(
            settings: PipelineBench.settings(cluster), health: Health(), logger: Self.logger)
        let parser = ScriptedNotifications()
        parser.read(Array("refund".utf8), as: .read(Self.notification))
        let ledger = InMemoryLedger()
        let catalog = Self.catalog(withAPI: withAPI)
        let worker = NotificationWorker(
            source: NotificationSource(
                topic: Self.topic, consumerProperties: KafkaProperties([]), parser: parser, notices: ledger),
            catalog: { catalog }, publisher: publisher, ledger: ledger, queries: queries,
            metrics: PipelineMetrics(ReceiptdMetrics(version: "test")), logger: Self.logger)
        let record = ConsumerRecord(
            topicPartition: TopicPartition(topic: Self.topic, partition: 0), offset: 1,
            timestampMilliseconds: 1_795_168_000_000, key: nil, value: Array("refund".utf8))
        _ = try await worker.work(on: [record])
        // The test applies the refund too. If the worker has applied it before, the ledger calls it a duplicate.
        let received = ReceivedNotice(
            StoreNotice(
                RefundNotice(
                    id: "n-1", change: .revoked(.refund, at: Self.refundedAt), signedAt: Self.refundedAt,
                    transaction: Self.told(milliPercent: 50_000)), type: "REFUND", id: "n-1"),
            topic: Self.topic, partition: 0, traceparent: nil, decidedAt: Self.refundedAt)
        let applied = try await ledger.apply([received], catalog: catalog).value.effects.first
        let isTaken = if case .applied(let effect)? = applied { effect == .duplicate } else { false }
        // The broker has acknowledged a dead letter when the worker returns, but the collector may read the dead letter
        // later.
        if !isTaken {
            try await changes.until("the dead letter is there") { collector.all(Sample.deadLetters).count == 1 }
        }
        let letters = collector.all(Sample.deadLetters).count
        try await collector.close()
        try await blocking {
            publisher.close()
            cluster.close()
        }
        return (isTaken, letters)
    }

    @Test(
        "if a refund's percentage is unreadable, the worker asks Apple about the transaction, and applies the refund",
        .timeLimit(.minutes(1)))
    func asked() async throws {
        let queries = InMemoryStoreQueries()
        queries.register(Self.told(milliPercent: 50_000))
        let outcome = try await outcome(queries, withAPI: true)
        #expect(outcome.isTaken && outcome.letters == 0)
        #expect(queries.asked.map(\.question) == [.transaction("1000")])
        #expect(queries.asked.map(\.share) == [.history])
    }

    @Test(
        "if Apple does not give the worker a refund's percentage, the refund becomes a dead letter, and is not applied",
        .timeLimit(.minutes(1)))
    func notAsked() async throws {
        let answering = InMemoryStoreQueries()
        answering.register(Self.told(milliPercent: 50_000))
        let unasked = try await outcome(answering, withAPI: false)
        #expect(!unasked.isTaken && unasked.letters == 1 && answering.asked.isEmpty)
        let unreadable = InMemoryStoreQueries()
        unreadable.register(Self.told())
        let failing = InMemoryStoreQueries()
        failing.failAlways(.transaction, .trouble(.init(.timeout)))
        for queries in [unreadable, failing, InMemoryStoreQueries()] {
            let outcome = try await outcome(queries, withAPI: true)
            #expect(!outcome.isTaken && outcome.letters == 1)
        }
    }
}
