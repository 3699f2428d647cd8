import Fulfillment
import Ledger
import NamesAndTimes
import TestSupport
import Testing

/// Tests when a ledger begins to follow a subscription. A grant makes a subscription, and a hold does not.
@Suite("Subscription ledgers in memory and in PostgreSQL: held periods")
struct SubscriptionOwnersConformance {
    private typealias Subscriptions = FollowedSubscriptionsConformance

    /// Holds the period for the first player. Its evidence says that the subscription will not renew.
    private func hold(_ subject: FollowedSubscriptionsConformance.Subject) async throws {
        let held = try await subject.grant("1000", original: "1000", at: 20, offset: 1, .hold(.beforeCutover)) {
            $0.renewals = [
                RenewalInfo(
                    originalTransactionID: "1000", willRenew: false, environment: .production,
                    signedAt: Subscriptions.base)
            ]
        }
        #expect(held.events.map(\.kind) == [.held])
        #expect(try await subject.known("1000") == nil)
    }

    /// Releases the hold as an operator does, and settles the hold as a worker does after it asked Apple again.
    private func end(
        _ subject: FollowedSubscriptionsConformance.Subject, _ verdict: JudgedPurchase.Verdict
    ) async throws -> OutcomeEvent? {
        try await subject.release("1000")
        let hold = try #require(try await subject.holds.leaseDue(catalogVersion: 1, limit: 1).first)
        let purchase = Subscriptions.period("1000", original: "1000", at: 20)
        let evidence = GenuineReceipt(
            bundleID: Sample.bundle, environment: .production, purchases: [purchase], holdsAutoRenewable: true)
        let now = Subscriptions.base.adding(milliseconds: 40 * 86_400_000)
        return try await subject.holds.settle(
            HoldDecision(
                hold, verdict: .each([Sample.judged(purchase, .autoRenewableSubscription, verdict)]),
                environment: .production, decidedAt: now, catalogVersion: 1,
                subscriptions: ToldSubscriptions(evidence, submitted: nil, under: Subscriptions.app(), now: now)))
    }

    @Test(
        "a held period creates no subscription; a grant on release creates it, with the renewal state that Apple gave",
        arguments: Implementation.allCases)
    func released(implementation: Implementation) async throws {
        try await Subscriptions.with(implementation) { subject in
            try await hold(subject)
            #expect(try await end(subject, .grant(payload: nil))?.kind == .granted)
            let known = try #require(try await subject.known("1000"))
            #expect(known.player == "player-1" && known.revision == 1 && known.willRenew == false)
        }
    }

    @Test(
        "if a period's hold is rejected, only the next player's granted period creates the subscription",
        arguments: Implementation.allCases)
    func refused(implementation: Implementation) async throws {
        try await Subscriptions.with(implementation) { subject in
            try await hold(subject)
            #expect(try await end(subject, .reject(.cancelled))?.kind == .rejected)
            #expect(try await subject.known("1000") == nil)
            #expect(try await subject.lease().isEmpty)
            let other = try await subject.grant("1001", original: "1000", at: 30, player: "player-2", offset: 2)
            #expect(other.events.map(\.kind) == [.granted, .subscriptionChanged])
            #expect(other.events.map(\.playerID) == ["player-2", "player-2"])
        }
    }

    @Test(
        "a subscription that continues a held subscription has no owner until one of its own periods is granted",
        arguments: Implementation.allCases)
    func notPassedOn(implementation: Implementation) async throws {
        try await Subscriptions.with(implementation) { subject in
            try await hold(subject)
            _ = try await subject.grant("2000", original: "2000", at: -60, offset: 2)
            let leased = try #require(try await subject.lease().first)
            var following = Subscriptions.status(Subscriptions.fact(.active, original: "5000", period: 20, at: 40))
            following.transaction.previousOriginalTransactionID = "1000"
            let findings = SubscriptionFindings([following], of: leased.subscription, under: Subscriptions.app())
            let events = try await subject.subscriptions.settle(
                SubscriptionCheck(
                    leased, findings, at: Subscriptions.base.adding(milliseconds: 40 * 86_400_000)),
                catalog: Subscriptions.catalog)
            #expect(events.isEmpty)
            let other = try await subject.grant("5001", original: "5000", at: 50, player: "player-2", offset: 3)
            #expect(other.events.map(\.kind) == [.granted, .subscriptionChanged])
        }
    }
}
