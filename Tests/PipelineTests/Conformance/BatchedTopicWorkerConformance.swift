import Fulfillment
import Kafka
import Logging
import NamesAndTimes
import Operations
import TestSupport
import Testing

@testable import Pipeline

@Suite("Conformance: workers for notifications, player accounts and consumption reports")
struct BatchedTopicWorkerConformance {
    enum Implementation: String, CaseIterable, Sendable {
        case notifications
        case accounts
        case consumption
    }

    struct Subject {
        let worker: any BatchedTopicWorker
        let publisher: OutcomePublisher
        /// Returns whether the database has the content of the sound record.
        let isEntered: () async throws -> Bool
        let sound: ConsumerRecord
        let unsound: ConsumerRecord
        let collector: Collector
        /// The collector raises this signal for each record.
        let changes: ChangeSignal

        var deadLetters: [ConsumerRecord] { collector.all(Sample.deadLetters) }

        func untilDeadLetter() async throws {
            try await changes.until("the dead letter is there") { deadLetters.count == 1 }
        }
    }

    private static let topic = "a-topic"
    private static let token = "1a2b3c4d-0000-4000-8000-000000000001"

    private func with(_ implementation: Implementation, _ body: (Subject) async throws -> Void) async throws {
        let cluster = try MockCluster(topics: [Sample.outcomes: 2, Sample.deadLetters: 1])
        let changes = ChangeSignal()
        let collector = Collector(cluster, topics: [Sample.deadLetters: 1], changes: changes)
        let publisher = try OutcomePublisher(
            settings: PipelineBench.settings(cluster), health: Health(), logger: Self.logger)
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(try await subject(implementation, publisher, collector, changes)))
        } catch {
            result = .failure(error)
        }
        try await collector.close()
        try await blocking {
            publisher.close()
            cluster.close()
        }
        try result.get()
    }

    private static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private func subject(
        _ implementation: Implementation, _ publisher: OutcomePublisher, _ collector: Collector,
        _ changes: ChangeSignal
    ) async throws -> Subject {
        let ledger = InMemoryLedger()
        let metrics = PipelineMetrics(ReceiptdMetrics(version: "test"))
        func subject(
            _ worker: any BatchedTopicWorker, key: String? = nil, _ value: String,
            _ isEntered: @escaping () async throws -> Bool
        ) -> Subject {
            Subject(
                worker: worker, publisher: publisher, isEntered: isEntered,
                sound: Self.record(1, key: key, value: value), unsound: Self.record(2, key: key, value: "unsound"),
                collector: collector, changes: changes)
        }
        switch implementation {
        case .notifications:
            let parser = ScriptedNotifications()
            parser.read(Array("refund".utf8), as: .read(Self.refund))
            let worker = NotificationWorker(
                source: NotificationSource(
                    topic: Self.topic, consumerProperties: KafkaProperties([]), parser: parser, notices: ledger),
                catalog: { Sample.catalog }, publisher: publisher, ledger: ledger,
                queries: InMemoryStoreQueries(), metrics: metrics, logger: Self.logger)
            return subject(worker, "refund") {
                // The test applies the notification too. If the worker has applied it before, the ledger calls it a
                // duplicate.
                guard case .taken(let notice) = Self.refund.verdict(under: Sample.catalog, from: .notification) else {
                    return false
                }
                let received = ReceivedNotice(
                    notice, topic: Self.topic, partition: 0, traceparent: nil, decidedAt: Self.refund.signedAt)
                guard
                    case .applied(let effect)? = try await ledger.apply([received], catalog: Sample.catalog).value
                        .effects.first
                else { return false }
                return effect == .duplicate
            }
        case .accounts:
            let worker = PlayerAccountWorker(
                source: PlayerAccountSource(
                    topic: Self.topic, consumerProperties: KafkaProperties([]), accounts: ledger),
                decoder: PlayerAccountDecoder(), publisher: publisher, metrics: metrics, logger: Self.logger)
            let token = AccountTokenKey(bundleID: Sample.bundle, token: Self.token)
            return subject(worker, key: "\(Sample.bundle)/\(Self.token)", #"{"player_id":"player-1"}"#) {
                ledger.player(of: token) == "player-1"
            }
        case .consumption:
            let worker = ConsumptionWorker(
                source: ConsumptionSource(topic: Self.topic, consumerProperties: KafkaProperties([])),
                decoder: ConsumptionReportDecoder(), store: ledger,
                publisher: publisher, metrics: metrics, logger: Self.logger)
            let report =
                #"{"transaction_id":"1000","bundle_id":"\#(Sample.bundle)","consumption_percentage":40000}"#
            return subject(worker, report) {
                ledger.consumption(of: "1000", bundleID: Sample.bundle)?.consumedMilliPercent == 40_000
            }
        }
    }

    private static func record(_ offset: Int64, key: String?, value: String?) -> ConsumerRecord {
        ConsumerRecord(
            topicPartition: TopicPartition(topic: topic, partition: 0), offset: offset,
            timestampMilliseconds: 1_795_167_000_000, key: key.map { Array($0.utf8) },
            value: value.map { Array($0.utf8) })
    }

    private static let refund: StoreNotification = {
        var purchase = StorePurchase(
            transactionID: "1000", originalTransactionID: "1000", productID: Sample.product,
            purchasedAt: Timestamp(milliseconds: 1_795_167_000_000))
        purchase.cancelledAt = Timestamp(milliseconds: 1_795_168_000_000)
        return StoreNotification(
            id: "n-1", type: "REFUND", signedAt: Timestamp(milliseconds: 1_795_168_000_000), bundleID: Sample.bundle,
            environment: .production,
            transaction: .told(
                NotifiedTransaction(
                    purchase: purchase, kind: .consumable, bundleID: Sample.bundle, environment: .production)))
    }()

    @Test(
        "if a batch has a valid and an invalid record, the worker stores the valid one; the other is a dead letter",
        arguments: Implementation.allCases)
    func done(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            _ = try await subject.worker.work(on: [subject.sound, subject.unsound])
            #expect(try await subject.isEntered())
            try await subject.untilDeadLetter()
            let letter = try #require(subject.deadLetters.first)
            #expect(letter.text == "unsound")
        }
    }

    @Test(
        "if a worker works on one batch three times, the database has the batch's record, and no dead letter exists",
        arguments: Implementation.allCases)
    func again(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            for _ in 0..<3 { _ = try await subject.worker.work(on: [subject.sound]) }
            #expect(try await subject.isEntered())
            #expect(subject.deadLetters.isEmpty)
        }
    }

    @Test(
        "if a worker knows only the offset of a record that it cannot read, it still writes a dead letter",
        arguments: Implementation.allCases)
    func unreadable(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            let place = TopicPartition(topic: Self.topic, partition: 0)
            try await subject.worker.bury(
                ConsumerRecord(topicPartition: place, offset: 7),
                DeadLetter(reason: .malformedMessage, detail: "the client cannot read it"))
            try await subject.untilDeadLetter()
        }
    }

    @Test(
        "if the publisher is closed, a worker throws Abandoned on a batch that needs a dead letter",
        arguments: Implementation.allCases)
    func closed(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            let publisher = subject.publisher
            try await blocking { publisher.close() }
            await #expect(throws: Abandoned.self) {
                try await subject.worker.work(on: [subject.sound, subject.unsound])
            }
            await #expect(throws: Abandoned.self) {
                try await subject.worker.bury(
                    subject.unsound, DeadLetter(reason: .malformedMessage, detail: "a test's"))
            }
        }
    }
}
