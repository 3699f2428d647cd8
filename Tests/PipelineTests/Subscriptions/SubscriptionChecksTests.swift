import Fulfillment
import NamesAndTimes
import Operations
import TestSupport
import Testing

@testable import Pipeline

@Suite("A subscription's check that gets no history from Apple, or takes too long")
struct SubscriptionChecksTests {
    private static let day: Int64 = 86_400_000
    private static let now = WallClock.now
    private static let app: AppPolicy = {
        var app = ParkingBench.serverApp
        app.announcements.renewals = .follow
        var product = Product(id: "monthly", kind: .autoRenewableSubscription)
        product.grantsLatePeriods = true
        app.products["monthly"] = product
        return app
    }()

    /// Returns Apple's status in a period that began `days` after now.
    private static func status(_ id: StoreTransactionID, from days: Int64) -> SubscriptionStatus {
        let began = now.adding(milliseconds: days * day)
        var purchase = StorePurchase(
            transactionID: id, originalTransactionID: "1000", productID: "monthly", purchasedAt: began,
            expiresAt: began.adding(milliseconds: 30 * day))
        purchase.type = .known(.autoRenewableSubscription)
        var transaction = NotifiedTransaction(
            purchase: purchase, kind: .autoRenewableSubscription, bundleID: app.bundleID, environment: .production)
        transaction.signedAt = now
        let renewal = RenewalInfo(
            originalTransactionID: "1000", willRenew: true, environment: .production, signedAt: now)
        return SubscriptionStatus(
            subscriptionGroupID: "20", state: .active, transaction: transaction, renewal: renewal)
    }

    private struct Bench {
        let pipeline: ParkingBench
        let ledger = InMemoryLedger(clock: { SubscriptionChecksTests.now })
        let queries = InMemoryStoreQueries()
        let checks: SubscriptionChecks

        init() throws {
            pipeline = try ParkingBench()
            checks = SubscriptionChecks(
                store: ledger,
                verification: PipelineVerification(
                    parser: ScriptedProofs(), verifier: ScriptedVerifier(), queries: queries,
                    apple: Outage.withAnswers()),
                catalog: { Catalog(version: 1, apps: [SubscriptionChecksTests.app]) },
                publication: EventPublication(
                    publisher: pipeline.worker.publisher, ledger: ledger, metrics: pipeline.worker.metrics))
        }

        /// Leases a subscription whose last known period began 100 days ago.
        func leased() async throws -> LeasedSubscription {
            let fact = try #require(SubscriptionFact(SubscriptionChecksTests.status("1000", from: -100)))
            var subscription = Subscription(fact, player: "player-1")
            subscription.check.dueAt = SubscriptionChecksTests.now
            ledger.follow(subscription)
            try await ledger.enter([
                PublishedClaim("1000", of: "player-1", in: SubscriptionChecksTests.app.bundleID, published: "1000")
            ])
            return try #require(try await checks.leaseDue(limit: 1).items.first)
        }

        func due() async throws -> Timestamp {
            let known = try #require(try await ledger.known(["1000"]).first)
            return try #require(known.check.dueAt)
        }
    }

    @Test(
        "if Apple returns the status but no history, the worker stores the status, and soon requests the history again",
        arguments: [InMemoryStoreQueries.Failure.trouble(.init(.timeout)), .blocked(.serverAPI)], [false, true])
    func withoutHistory(failure: InMemoryStoreQueries.Failure, isCancelled: Bool) async throws {
        let bench = try Bench()
        defer { bench.pipeline.close() }
        bench.queries.register([Self.status("1003", from: -10)], of: "1000")
        bench.queries.fail(.transactionHistory, failure)
        let leased = try await bench.leased()
        let began = WallClock.now
        let work = Task {
            if isCancelled { withUnsafeCurrentTask { $0?.cancel() } }
            try await bench.checks.work(on: leased)
        }
        // A cancelled try may leave its event in the outbox for a sweep.
        if isCancelled { _ = await work.result } else { try await work.value }
        let known = try #require(try await bench.ledger.known(["1000"]).first)
        #expect(known.told.periodBeganAt == Self.now.adding(milliseconds: -10 * Self.day))
        #expect(known.check.historySince == Self.now.adding(milliseconds: -100 * Self.day) && known.check.tries == 0)
        let shortest: Int64 = failure == .blocked(.serverAPI) ? 600_000 : 60_000
        let times = began.adding(milliseconds: shortest)...WallClock.now.adding(milliseconds: 2 * shortest)
        #expect(times.contains(try await bench.due()))
    }

    @Test("if a check of a subscription takes too long, the worker postpones the check for one to two minutes")
    func putOff() async throws {
        let bench = try Bench()
        defer { bench.pipeline.close() }
        let leased = try await bench.leased()
        try await bench.checks.putOff(leased)
        let times = Self.now.adding(milliseconds: 60_000)...Self.now.adding(milliseconds: 120_000)
        #expect(times.contains(try await bench.due()))
    }
}
