import BackOffice
import Encodings
import Foundation
import Fulfillment
import Ledger
import NamesAndTimes
import TestSupport
import Testing

@Suite("Subscription ledgers in memory and in PostgreSQL")
struct FollowedSubscriptionsConformance {
    struct Subject: Sendable {
        let ledger: any PurchaseLedger
        let subscriptions: any FollowedSubscriptions
        let holds: any HeldPurchases
        /// Releases a transaction's hold as an operator does.
        let release: @Sendable (StoreTransactionID) async throws -> Void

        /// Records a period of 30 days with a verdict, by default a grant. `change` adds facts to its evidence.
        func grant(
            _ id: String, original: String, at days: Int64, player: String = "player-1", offset: Int64,
            receipt: String? = nil, under policy: AppPolicy? = nil,
            _ verdict: JudgedPurchase.Verdict = .grant(payload: nil),
            _ change: (inout GenuineReceipt) -> Void = { _ in }
        ) async throws -> RecordedOutcome {
            let purchase = FollowedSubscriptionsConformance.period(id, original: original, at: days)
            var evidence = GenuineReceipt(
                bundleID: Sample.bundle, environment: .production, purchases: [purchase], holdsAutoRenewable: true)
            change(&evidence)
            let now = FollowedSubscriptionsConformance.base.adding(milliseconds: days * 86_400_000 + 1)
            let app = policy ?? FollowedSubscriptionsConformance.app(hasServerAPI: receipt == nil)
            return try await ledger.record(
                PendingDecision(
                    submission: Sample.submission("s-\(offset)", player: player), position: Sample.position(offset),
                    proof: Sample.digest("proof \(offset)"),
                    verdict: .each([Sample.judged(purchase, .autoRenewableSubscription, verdict)]),
                    environment: .production, evidence: nil, decidedAt: now, catalogVersion: 1, traceparent: nil,
                    subscriptions: ToldSubscriptions(evidence, submitted: receipt, under: app, now: now)))
        }

        init(
            ledger: any PurchaseLedger, subscriptions: any FollowedSubscriptions, holds: any HeldPurchases,
            release: @escaping @Sendable (StoreTransactionID) async throws -> Void
        ) {
            self.ledger = ledger
            self.subscriptions = subscriptions
            self.holds = holds
            self.release = release
        }

        init(_ database: LedgerDatabase, _ ledger: PostgresLedger) {
            self.init(
                ledger: ledger, subscriptions: PostgresSubscriptions(pool: LedgerDatabase.pool(database.uri)),
                holds: PostgresHolds(pool: database.pool),
                release: { transaction in
                    _ = try await HoldAdministration(pool: database.pool)
                        .release(HoldFilter(id: transaction.text), by: "ann")
                })
        }

        func lease() async throws -> [LeasedSubscription] {
            try await subscriptions.leaseDue(room: [(app: Sample.bundle, most: 10)], limit: 10)
        }

        func known(_ original: StoreTransactionID) async throws -> Subscription? {
            try await subscriptions.known([original]).first
        }

        func settle(
            _ leased: LeasedSubscription, _ facts: [SubscriptionFact], at days: Int64,
            under catalog: Catalog = FollowedSubscriptionsConformance.catalog
        ) async throws -> [OutcomeEvent] {
            let statuses = facts.map(FollowedSubscriptionsConformance.status)
            let findings = SubscriptionFindings(
                statuses, of: leased.subscription, under: FollowedSubscriptionsConformance.app())
            return try await subscriptions.settle(
                SubscriptionCheck(
                    leased, findings, at: FollowedSubscriptionsConformance.base.adding(milliseconds: days * 86_400_000)),
                catalog: catalog)
        }
    }

    /// The first day of the tests. It lies 40 days before today, because PostgreSQL leases by its own clock.
    static let base = Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)).adding(
        milliseconds: -40 * 86_400_000)

    static func app(hasServerAPI: Bool = true) -> AppPolicy {
        var app = AppPolicy(bundleID: Sample.bundle)
        if hasServerAPI {
            app.serverAPI = ServerAPICredentials(issuerID: "i", keyID: "k", privateKeySetting: "s")
        } else {
            app.announcements.renewals = .follow
        }
        app.products["monthly"] = Product(id: "monthly", kind: .autoRenewableSubscription)
        return app
    }

    static var catalog: Catalog { Catalog(version: 1, apps: [app()]) }

    static func period(_ id: String, original: String, at days: Int64) -> StorePurchase {
        let start = FollowedSubscriptionsConformance.base.adding(milliseconds: days * 86_400_000)
        return Sample.purchase(
            id, original: original, product: "monthly", expires: start.adding(milliseconds: 30 * 86_400_000), at: start)
    }

    static func fact(
        _ state: SubscriptionState, original: String = "1000", period days: Int64, at toldDays: Int64
    ) -> SubscriptionFact {
        var fact = SubscriptionFact(
            originalTransactionID: Identifier(original), bundleID: Sample.bundle, environment: .production,
            productID: "monthly", state: state,
            toldAt: FollowedSubscriptionsConformance.base.adding(milliseconds: toldDays * 86_400_000))
        fact.periodBeganAt = FollowedSubscriptionsConformance.base.adding(milliseconds: days * 86_400_000)
        fact.expiresAt = fact.periodBeganAt?.adding(milliseconds: 30 * 86_400_000)
        fact.willRenew = state == .active
        return fact
    }

    static func status(_ fact: SubscriptionFact) -> SubscriptionStatus {
        let days = ((fact.periodBeganAt?.milliseconds ?? 0) - base.milliseconds) / 86_400_000
        let id = "\(fact.originalTransactionID.text)\(days)"
        var transaction = NotifiedTransaction(
            purchase: period(id, original: fact.originalTransactionID.text, at: days),
            kind: .autoRenewableSubscription, bundleID: fact.bundleID, environment: fact.environment)
        transaction.signedAt = fact.toldAt
        var renewal = RenewalInfo(
            originalTransactionID: fact.originalTransactionID, willRenew: fact.willRenew,
            environment: fact.environment, signedAt: fact.toldAt)
        renewal.graceExpiresAt = fact.graceExpiresAt
        return SubscriptionStatus(
            subscriptionGroupID: "20", state: fact.state, transaction: transaction, renewal: renewal)
    }

    func with(
        _ implementation: Implementation, at days: Int64 = 40, _ body: (Subject) async throws -> Void
    ) async throws {
        try await Self.with(implementation, at: days, body)
    }

    static func with(
        _ implementation: Implementation, at days: Int64 = 40, _ body: (Subject) async throws -> Void
    ) async throws {
        let now = FollowedSubscriptionsConformance.base.adding(milliseconds: days * 86_400_000)
        switch implementation {
        case .inMemory:
            let ledger = InMemoryLedger(clock: { now })
            try await body(
                Subject(
                    ledger: ledger, subscriptions: ledger, holds: ledger, release: { ledger.releaseByOperator($0) }))
        case .postgres:
            let database = try await LedgerDatabase()
            let ledger = database.ledger()
            try await body(Subject(database, ledger))
            await ledger.close()
        }
    }

    @Test(
        "the grant of a period also publishes the subscription's change; a repeated submission publishes none",
        arguments: Implementation.allCases)
    func granted(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            let first = try await subject.grant("1000", original: "1000", at: 0, offset: 1)
            #expect(first.events.map(\.kind) == [.granted, .subscriptionChanged])
            #expect(first.events.last?.subject == "1000")
            let again = try await subject.grant("1000", original: "1000", at: 0, offset: 2)
            #expect(again.events.map(\.kind) == [.rejected])
            let next = try await subject.grant("1001", original: "1000", at: 30, offset: 3)
            #expect(next.events.map(\.kind) == [.granted, .subscriptionChanged])
            let known = try #require(try await subject.known("1000"))
            #expect(known.revision == 2 && known.state == .active && known.player == "player-1")
            #expect(known.expiresAt == Self.period("1001", original: "1000", at: 30).expiresAt)
        }
    }

    @Test(
        "if another player submits a renewal, it is rejected, and the subscription's change is published for the owner",
        arguments: Implementation.allCases)
    func ofItsOwner(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            _ = try await subject.grant("1000", original: "1000", at: 0, offset: 1)
            let stolen = try await subject.grant("1001", original: "1000", at: 30, player: "player-2", offset: 2)
            #expect(stolen.events.map(\.kind) == [.rejected, .subscriptionChanged])
            #expect(stolen.events.map(\.playerID) == ["player-2", "player-1"])
        }
    }

    @Test(
        "if a subscription is due, one worker leases it, and Apple's answer is stored once",
        arguments: Implementation.allCases)
    func checked(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            _ = try await subject.grant("1000", original: "1000", at: -60, offset: 1)
            _ = try await subject.grant("2000", original: "2000", at: 20, offset: 2)
            let leased = try await subject.lease()
            #expect(leased.map(\.originalTransactionID) == ["1000"])
            #expect(try await subject.lease().isEmpty)

            let told = [
                Self.fact(.expired, period: -60, at: 40), Self.fact(.active, original: "2000", period: 20, at: 40),
                Self.fact(.active, original: "3000", period: 20, at: 40),
            ]
            let first = try #require(leased.first)
            let events = try await subject.settle(first, told, at: 40)
            // Subscription 2000 has a new renewal state and nothing else new. Subscription 3000 has no owner, and so no
            // event.
            #expect(Set(events.map(\.subject)) == ["1000", "2000"])
            #expect(try await subject.settle(first, told, at: 40).isEmpty)
            #expect(try await subject.known("1000")?.state == .expired)
            #expect(try await subject.known("1000")?.check.dueAt == nil)
            #expect(try await subject.known("3000") == nil)
            #expect(try await subject.lease().isEmpty)
        }
    }

    @Test(
        "if a worker ends a lease without a result, the subscription is due again; a postponed subscription is not",
        arguments: Implementation.allCases)
    func released(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            _ = try await subject.grant("1000", original: "1000", at: -60, offset: 1)
            let first = try #require(try await subject.lease().first)
            try await subject.subscriptions.endLease(of: first)
            let second = try #require(try await subject.lease().first)
            try await subject.subscriptions.reschedule(first, dueAfterSeconds: 3600)
            #expect(try await subject.lease().isEmpty, "a lease that is over changes nothing")
            try await subject.subscriptions.reschedule(second, dueAfterSeconds: 3600)
            #expect(try await subject.lease().isEmpty)
            #expect(try await subject.known("1000")?.state == .active)
        }
    }

    @Test(
        "if the app has no App Store Server API, a worker leases a due subscription with its newest receipt",
        arguments: Implementation.allCases)
    func receipts(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            _ = try await subject.grant("1000", original: "1000", at: -90, offset: 1, receipt: "AAAA")
            _ = try await subject.grant("1001", original: "1000", at: -60, offset: 2, receipt: "BBBB")
            _ = try await subject.grant("2000", original: "2000", at: -60, offset: 3, receipt: "CCCC") {
                $0.latestReceipt = "DDDD"
            }
            let leased = try await subject.lease()
            #expect(leased.map(\.receipt).sorted { ($0 ?? "") < ($1 ?? "") } == ["BBBB", "DDDD"])
        }
    }

    @Test(
        "if a subscription continues another subscription, both belong to the same player",
        arguments: Implementation.allCases)
    func passedOn(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            _ = try await subject.grant("1000", original: "1000", at: -60, offset: 1)
            let leased = try #require(try await subject.lease().first)
            var following = Self.status(Self.fact(.active, original: "5000", period: 20, at: 40))
            following.transaction.previousOriginalTransactionID = "1000"
            let findings = SubscriptionFindings([following], of: leased.subscription, under: Self.app())
            let events = try await subject.subscriptions.settle(
                SubscriptionCheck(
                    leased, findings, at: FollowedSubscriptionsConformance.base.adding(milliseconds: 40 * 86_400_000)),
                catalog: Self.catalog)
            #expect(events.map(\.subject) == ["5000"] && events.first?.playerID == "player-1")
            let stolen = try await subject.grant("5001", original: "5000", at: 50, player: "player-2", offset: 2)
            #expect(stolen.granted.isEmpty && stolen.events.first?.reason == .ownedByOtherPlayer)
        }
    }

    @Test(
        "if a decision has no facts about the subscription, the granted period creates no subscription",
        arguments: Implementation.allCases)
    func notFollowed(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            let purchase = Self.period("1000", original: "1000", at: 0)
            let decision = Sample.decision([Sample.judged(purchase, .autoRenewableSubscription)], offset: 1)
            let outcome = try await subject.ledger.record(decision)
            #expect(outcome.events.map(\.kind) == [.granted])
            let known = try await subject.known("1000")
            #expect(known == nil)
        }
    }
}
