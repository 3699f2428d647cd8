import Fulfillment
import Ledger
import NamesAndTimes
import Postgres
import Testing

@Suite("Claims of subscriptions about which the worker asks Apple")
struct SubscriptionClaimTests {
    private typealias Subject = FollowedSubscriptionsConformance.Subject

    private func with(_ body: (LedgerDatabase, Subject, LeasedSubscription) async throws -> Void) async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let subject = Subject(database, ledger)
        _ = try await subject.grant("1000", original: "1000", at: -60, offset: 1)
        try await body(database, subject, try #require(try await subject.lease().first))
        await ledger.close()
    }

    @Test("if Apple answers about a subscription while it is being granted, the ledger waits and finds the owner")
    func grantedMeanwhile() async throws {
        try await with { database, subject, leased in
            let granting = try await OpenTransaction(
                database,
                """
                INSERT INTO claims (original_transaction_id, player_id, bundle_id)
                VALUES ('3000', 'player-2', '\(Sample.bundle.text)');
                INSERT INTO grants (transaction_id, original_transaction_id, player_id, bundle_id, product_id, quantity,
                    environment, purchased_at, submission_id, granted_at)
                VALUES ('3000', '3000', 'player-2', '\(Sample.bundle.text)', 'monthly', 1, 'Production', now(), 's',
                    now());
                """)
            let told = FollowedSubscriptionsConformance.fact(.active, original: "3000", period: 20, at: 40)
            async let settled = subject.settle(leased, [told], at: 40)
            try await database.waitForLocks()
            try await granting.finish()
            #expect(try await settled.map(\.playerID) == ["player-2"])
            #expect(try await subject.known("3000")?.player == "player-2")
        }
    }

    @Test("if Apple's answer names a new subscription and the one before it, the ledger adds claims without an owner")
    func claims() async throws {
        try await with { database, subject, leased in
            var told = FollowedSubscriptionsConformance.status(
                FollowedSubscriptionsConformance.fact(.active, original: "3000", period: 20, at: 40))
            told.transaction.previousOriginalTransactionID = "2000"
            let findings = SubscriptionFindings(
                [told], of: leased.subscription, under: FollowedSubscriptionsConformance.app())
            let events = try await subject.subscriptions.settle(
                SubscriptionCheck(leased, findings, at: FollowedSubscriptionsConformance.base),
                catalog: FollowedSubscriptionsConformance.catalog)
            #expect(events.isEmpty)
            let claims = """
                SELECT count(*) FROM claims
                WHERE original_transaction_id IN ('2000', '3000') AND player_id IS NULL
                    AND bundle_id = '\(Sample.bundle.text)'
                """
            #expect(try await database.number(claims) == 2)
        }
    }

    @Test("if a subscription continues an erased player's subscription, the erased player does not become its owner")
    func erased() async throws {
        try await with { database, subject, leased in
            try await database.run(
                """
                INSERT INTO erasures (pseudonym, operator, done_at) VALUES ('erased', 'ann', now());
                INSERT INTO claims (original_transaction_id, player_id, bundle_id)
                VALUES ('2000', 'erased', '\(Sample.bundle.text)');
                INSERT INTO grants (transaction_id, original_transaction_id, player_id, bundle_id, product_id, quantity,
                    environment, purchased_at, submission_id, granted_at)
                VALUES ('2000', '2000', 'erased', '\(Sample.bundle.text)', 'monthly', 1, 'Production', now(), 's', now());
                """)
            var told = FollowedSubscriptionsConformance.status(
                FollowedSubscriptionsConformance.fact(.active, original: "3000", period: 20, at: 40))
            told.transaction.previousOriginalTransactionID = "2000"
            let findings = SubscriptionFindings(
                [told], of: leased.subscription, under: FollowedSubscriptionsConformance.app())
            _ = try await subject.subscriptions.settle(
                SubscriptionCheck(leased, findings, at: FollowedSubscriptionsConformance.base),
                catalog: FollowedSubscriptionsConformance.catalog)
            let unowned = "SELECT count(*) FROM claims WHERE original_transaction_id = '3000' AND player_id IS NULL"
            #expect(try await database.number(unowned) == 1)
        }
    }

    @Test("if a check's receipt shows a refund, the grant is revoked; without a grant, the ledger stores nothing")
    func shown() async throws {
        try await with { database, subject, leased in
            try await database.run(
                """
                INSERT INTO claims (original_transaction_id, player_id, bundle_id)
                VALUES ('5000', 'player-2', '\(Sample.bundle.text)');
                INSERT INTO grants (transaction_id, original_transaction_id, player_id, bundle_id, product_id, quantity,
                    environment, purchased_at, submission_id, granted_at)
                VALUES ('5000', '5000', 'player-2', '\(Sample.bundle.text)', 'gold', 1, 'Production', now(), 's', now());
                """)
            func refunded(_ id: String) -> StorePurchase {
                var purchase = Sample.purchase(id, product: "gold")
                purchase.cancelledAt = FollowedSubscriptionsConformance.base
                return purchase
            }
            let answer = GenuineReceipt(
                bundleID: Sample.bundle, environment: .production, purchases: [refunded("5000"), refunded("6000")])
            let check = SubscriptionCheck(
                leased,
                SubscriptionFindings(
                    answer, of: leased.subscription, under: FollowedSubscriptionsConformance.app(hasServerAPI: false),
                    now: FollowedSubscriptionsConformance.base), at: FollowedSubscriptionsConformance.base)
            let events = try await subject.subscriptions.settle(
                check, catalog: FollowedSubscriptionsConformance.catalog)
            #expect(events.map(\.kind) == [.revoked] && events.map(\.subject) == ["5000"])
            #expect(try await database.number("SELECT count(*) FROM grants WHERE revoked_at IS NOT NULL") == 1)
            let traces = """
                SELECT (SELECT count(*) FROM claims WHERE original_transaction_id = '6000')
                    + (SELECT count(*) FROM refunds WHERE transaction_id = '6000')
                """
            #expect(try await database.number(traces) == 0)
        }
    }

    @Test(
        "if a subscription has lost its owner, it is not checked again, whatever Apple answers",
        arguments: [true, false])
    func ownerless(isToldOf: Bool) async throws {
        try await with { database, subject, leased in
            try await database.run("UPDATE claims SET player_id = NULL, granted_transaction_id = NULL")
            let told = FollowedSubscriptionsConformance.fact(.active, period: 30, at: 40)
            #expect(try await subject.settle(leased, isToldOf ? [told] : [], at: 40).isEmpty)
            let idle = "SELECT count(*) FROM subscriptions WHERE due_at IS NULL AND leased_until IS NULL"
            #expect(try await database.number(idle) == 1)
        }
    }

    @Test(
        "if Apple extended a period, a transaction with the new end is already granted; with another end it is granted")
    func extended() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let subject = Subject(database, ledger)
        _ = try await subject.grant("1000", original: "1000", at: 0, offset: 1)
        // Apple's RENEWAL_EXTENDED notification has the same effect as this update.
        try await database.run("UPDATE subscriptions SET expires_at = expires_at + interval '10 days'")
        func record(_ id: String, from begin: Int64, to end: Int64, offset: Int64) async throws -> RecordedOutcome {
            let day: Int64 = 86_400_000
            let purchase = Sample.purchase(
                id, original: "1000", product: "monthly",
                expires: FollowedSubscriptionsConformance.base.adding(milliseconds: end * day),
                at: FollowedSubscriptionsConformance.base.adding(milliseconds: begin * day))
            let evidence = GenuineReceipt(
                bundleID: Sample.bundle, environment: .production, purchases: [purchase], holdsAutoRenewable: true)
            return try await ledger.record(
                PendingDecision(
                    submission: Sample.submission("s-\(offset)", player: "player-1"), position: Sample.position(offset),
                    proof: Sample.digest("proof \(offset)"),
                    verdict: .each([Sample.judged(purchase, .autoRenewableSubscription)]), environment: .production,
                    evidence: nil, decidedAt: purchase.purchasedAt, catalogVersion: 1, traceparent: nil,
                    subscriptions: ToldSubscriptions(
                        evidence, submitted: nil, under: FollowedSubscriptionsConformance.app(),
                        now: purchase.purchasedAt)))
        }
        // The first two records also carry facts about the subscription.
        #expect(try await record("1001", from: 5, to: 40, offset: 2).reason == .alreadyGranted)
        #expect(try await record("1004", from: 6, to: 40, offset: 5).reason == .alreadyGranted)
        // The next period, and a period with another end, are granted.
        #expect(try await record("1002", from: 40, to: 70, offset: 3).granted.count == 1)
        #expect(try await record("1003", from: 29, to: 59, offset: 4).granted.count == 1)
        await ledger.close()
    }

    @Test(
        "if an announced transaction has the same end as a period that Apple extended, it is refused as already granted"
    )
    func toldBeforeDelivery() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let subject = Subject(database, ledger)
        _ = try await subject.grant("1000", original: "1000", at: 0, offset: 1)
        // Apple's RENEWAL_EXTENDED notification has the same effect as this update.
        try await database.run("UPDATE subscriptions SET expires_at = expires_at + interval '5 days'")
        let leased = try #require(try await subject.lease().first)
        // The period begins on the fifth day, and ends with the extended period.
        let seats = FollowedSubscriptionsConformance.fact(.active, period: 5, at: 6)
        _ = try await subject.settle(leased, [seats], at: 6)
        let known = try await subject.known("1000")
        #expect(known?.told.periodBeganAt == FollowedSubscriptionsConformance.base)
        let delivered = try await AnnouncedSubject(database, ledger)
            .deliver(under: FollowedSubscriptionsConformance.catalog)
        #expect(delivered == ["refused already_granted"])
        await ledger.close()
    }
}
