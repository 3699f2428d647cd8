import Fulfillment
import Kafka
import Logging
import NamesAndTimes
import Operations
import Synchronization
import TestSupport

@testable import Pipeline

/// A `DueWork` with the type of its items erased.
struct AnyDueWork: Sendable {
    struct Item: Sendable {
        let work: @Sendable () async throws -> Void
        let release: @Sendable () async throws -> Void
    }

    let isWanted: @Sendable () -> Bool
    let leaseDue: @Sendable (Int) async throws -> [Item]

    init(_ source: some DueWork) {
        isWanted = { source.isWanted }
        leaseDue = { limit in
            try await source.leaseDue(limit: limit).items.map { item in
                Item(work: { try await source.work(on: item) }, release: { try await source.release(item) })
            }
        }
    }
}

/// A `DueWork` on an in-memory store with three due rows. The test decides whether tries succeed.
struct DueWorkBench: Sendable {
    let work: AnyDueWork
    /// The same work under a catalog that does not configure it; nil if every catalog needs the work.
    let unwanted: AnyDueWork?
    /// Sets whether tries end without a result.
    let setTrouble: @Sendable (Bool) -> Void
    /// Ends all leases, as if all workers had died an hour ago.
    let endLeases: @Sendable () -> Void

    private static let ids: [StoreTransactionID] = ["1000", "1001", "1002"]
    private static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    private static let nothing = Catalog(version: 1, apps: [])
    private static let catalog: Catalog = {
        var app = ParkingBench.serverApp
        app.announcements.finishesGrants = true
        app.announcements.consumption = ConsumptionPolicy()
        app.announcements.renewals = .follow
        return Catalog(version: 1, apps: [app])
    }()

    static func finishes() async throws -> DueWorkBench {
        let (ledger, queries) = try await granted()
        func source(_ catalog: Catalog) -> FinishSource {
            FinishSource(
                store: ledger, queries: queries, catalog: { catalog }, metrics: ReceiptdMetrics(version: "test"),
                logger: logger)
        }
        return DueWorkBench(
            work: AnyDueWork(source(catalog)), unwanted: AnyDueWork(source(nothing)),
            setTrouble: { queries.failAlways(.finish, $0 ? .trouble(.init(.timeout)) : nil) },
            endLeases: { ledger.endFinishLeases() })
    }

    static func refundRequests() async throws -> DueWorkBench {
        let (ledger, queries) = try await granted()
        for id in ids {
            ledger.enter(
                RefundRequest(
                    id: Identifier("n-\(id)"), transactionID: id, originalTransactionID: id,
                    bundleID: ParkingBench.bundle, environment: .production, productID: "gold", reason: nil,
                    signedAt: WallClock.now),
                at: WallClock.now)
        }
        let source = RefundRequestSource(
            store: ledger, queries: queries, catalog: { catalog }, waitSeconds: 0,
            metrics: ReceiptdMetrics(version: "test"), logger: logger)
        return DueWorkBench(
            work: AnyDueWork(source), unwanted: nil,
            setTrouble: { queries.failAlways(.consumption, $0 ? .trouble(.init(.timeout)) : nil) },
            endLeases: { ledger.endRefundRequestLeases() })
    }

    /// Makes three subscriptions that have expired and are due for a check.
    static func subscriptions(_ bench: ParkingBench) -> DueWorkBench {
        let passed = Mutex<Int64>(0)
        let clock: @Sendable () -> Timestamp = { WallClock.now.adding(milliseconds: passed.withLock { $0 }) }
        let (ledger, queries) = (InMemoryLedger(clock: clock), InMemoryStoreQueries())
        let began = WallClock.now.adding(milliseconds: -3_600_000)
        for id in ids {
            var fact = SubscriptionFact(
                originalTransactionID: id, bundleID: ParkingBench.bundle, environment: .production, productID: "gold",
                state: .active, toldAt: began)
            fact.periodBeganAt = began
            fact.expiresAt = began.adding(milliseconds: 1_800_000)
            var subscription = Subscription(fact, player: "player-1")
            subscription.check.dueAt = began
            ledger.follow(subscription)
        }
        func source(_ catalog: Catalog) -> SubscriptionChecks {
            SubscriptionChecks(
                store: ledger,
                verification: PipelineVerification(
                    parser: ScriptedProofs(), verifier: ScriptedVerifier(), queries: queries,
                    apple: Outage.withAnswers()),
                catalog: { catalog },
                publication: EventPublication(
                    publisher: bench.worker.publisher, ledger: ledger, metrics: bench.worker.metrics))
        }
        return DueWorkBench(
            work: AnyDueWork(source(catalog)), unwanted: AnyDueWork(source(nothing)),
            setTrouble: { queries.failAlways(.subscriptionStatuses, $0 ? .trouble(.init(.timeout)) : nil) },
            endLeases: { passed.withLock { $0 += 3_600_000 } })
    }

    /// Makes three apps whose notification history at Apple is empty.
    static func histories(_ bench: ParkingBench) -> DueWorkBench {
        let passed = Mutex<Int64>(0)
        let clock: @Sendable () -> Timestamp = { WallClock.now.adding(milliseconds: passed.withLock { $0 }) }
        let (places, queries) = (InMemoryHistoryPlaces(clock: clock), InMemoryStoreQueries())
        let apps = (1...3).map { number in
            var app = AppPolicy(bundleID: Identifier("com.example.\(number)"))
            app.serverAPI = ParkingBench.serverApp.serverAPI
            app.sandbox = .reject
            return app
        }
        func poll(everySeconds seconds: Double) -> NotificationHistoryPoll {
            let worker = NotificationWorker(
                source: NotificationSource(
                    topic: "notifications", consumerProperties: KafkaProperties([]), parser: ScriptedNotifications(),
                    notices: bench.subscriptions),
                catalog: { Catalog(version: 1, apps: apps) }, publisher: bench.worker.publisher,
                ledger: bench.worker.ledger, queries: queries, metrics: bench.worker.metrics, logger: logger)
            return NotificationHistoryPoll(
                source: NotificationHistorySource(queries: queries, places: places, seconds: seconds, days: 1),
                worker: worker, turn: IsolationTurn(), failures: Failures())
        }
        return DueWorkBench(
            work: AnyDueWork(poll(everySeconds: 86_400)), unwanted: AnyDueWork(poll(everySeconds: 0)),
            setTrouble: { queries.failAlways(.notificationHistory, $0 ? .trouble(.init(.timeout)) : nil) },
            endLeases: { passed.withLock { $0 += 3_600_000 } })
    }

    static func inMemory() -> DueWorkBench {
        let table = InMemoryDueWork([1, 2, 3])
        return DueWorkBench(
            work: AnyDueWork(table), unwanted: AnyDueWork(InMemoryDueWork([1], isWanted: false)),
            setTrouble: { isInTrouble in table.change { $0.isInTrouble = isInTrouble } },
            endLeases: { table.endLeases() })
    }

    /// Makes a ledger that granted all three purchases and whose events Kafka has acknowledged.
    private static func granted() async throws -> (InMemoryLedger, InMemoryStoreQueries) {
        let (ledger, queries) = (InMemoryLedger(), InMemoryStoreQueries())
        for id in ids {
            let position = ParkingBench.position(Int64(id.text) ?? 0)
            let purchase = StorePurchase(
                transactionID: id, originalTransactionID: id, productID: "gold", purchasedAt: position.timestamp)
            queries.register(
                NotifiedTransaction(
                    purchase: purchase, kind: .consumable, bundleID: ParkingBench.bundle, environment: .production))
            let outcome = try await ledger.settle(
                PendingDecision(
                    submission: ParkingBench.submission(id.text), position: position, proof: position.content,
                    verdict: .each([
                        JudgedPurchase(purchase: purchase, kind: .consumable, verdict: .grant(payload: nil))
                    ]),
                    environment: .production, evidence: nil, decidedAt: position.timestamp, catalogVersion: 1,
                    traceparent: nil, finishesGrants: true))
            if case .events(let events) = outcome.value { ledger.published(events.map(\.eventID)) }
        }
        return (ledger, queries)
    }
}

extension DueBatch {
    var items: [Item] { groups.flatMap(\.self) }
}
