import Fulfillment
import Ledger
import NamesAndTimes
import TestSupport
import Testing

/// Tests rules that every ledger keeps for a period that nobody reported. The product is granted even after the
/// period's end.
@Suite("Subscription ledgers in memory and in PostgreSQL: missed periods")
struct MissedPeriodsConformance {
    private typealias Subscriptions = FollowedSubscriptionsConformance

    private static var app: AppPolicy {
        var app = Subscriptions.app()
        app.products["monthly"]?.grantsLatePeriods = true
        return app
    }

    private static let now = Subscriptions.base.adding(milliseconds: 40 * 86_400_000)

    private func settle(
        _ leased: LeasedSubscription, readUntil: SubscriptionFindings.ReadUntil,
        in subject: FollowedSubscriptionsConformance.Subject
    ) async throws {
        let status = Subscriptions.status(Subscriptions.fact(.active, period: 35, at: 40))
        var findings = SubscriptionFindings([status], of: leased.subscription, under: Self.app)
        #expect(findings.missedSince == Subscriptions.base)
        if readUntil != .nowhere {
            findings.add(history: [], readUntil: readUntil, of: leased.subscription, under: Self.app, now: Self.now)
        }
        _ = try await subject.subscriptions.settle(
            SubscriptionCheck(leased, findings, at: Self.now), catalog: Catalog(version: 1, apps: [Self.app]))
    }

    @Test("a subscription that renews in time is not due for a check", arguments: Implementation.allCases)
    func inTime(implementation: Implementation) async throws {
        try await Subscriptions.with(implementation) { subject in
            _ = try await subject.grant("1000", original: "1000", at: 0, offset: 1, under: Self.app)
            _ = try await subject.grant("1001", original: "1000", at: 30, offset: 2, under: Self.app)
            #expect(try await subject.lease().isEmpty)
        }
    }

    @Test(
        "if a submission skips a period, workers check the subscription until one reads Apple's history to its end",
        arguments: Implementation.allCases)
    func jumped(implementation: Implementation) async throws {
        try await Subscriptions.with(implementation) { subject in
            _ = try await subject.grant("1000", original: "1000", at: 0, offset: 1, under: Self.app)
            _ = try await subject.grant("1002", original: "1000", at: 35, offset: 2, under: Self.app)
            let first = try #require(try await subject.lease().first)
            #expect(first.subscription.check.historySince == Subscriptions.base)
            try await settle(first, readUntil: .nowhere, in: subject)
            #expect(try await subject.lease().isEmpty, "it is due again, but later")
            let waiting = try #require(try await subject.known("1000")?.check)
            #expect(waiting.historySince == Subscriptions.base)
            #expect(waiting.dueAt.map { $0 < Self.now.adding(milliseconds: 86_400_000) } == true)

            let second = LeasedSubscription(
                try #require(try await subject.known("1000")), receipt: nil, lease: first.lease)
            try await settle(second, readUntil: .end, in: subject)
            let known = try #require(try await subject.known("1000")?.check)
            #expect(known.historySince == nil)
            #expect(known.dueAt.map { $0 > Self.now.adding(milliseconds: 86_400_000) } == true)
        }
    }

    @Test(
        "if a worker reads Apple's history in part, the subscription is due immediately, and the next check reads on",
        arguments: Implementation.allCases)
    func longHistory(implementation: Implementation) async throws {
        try await Subscriptions.with(implementation) { subject in
            _ = try await subject.grant("1000", original: "1000", at: 0, offset: 1, under: Self.app)
            _ = try await subject.grant("1002", original: "1000", at: 35, offset: 2, under: Self.app)
            let first = try #require(try await subject.lease().first)
            let time = Subscriptions.base.adding(milliseconds: 86_400_000)
            try await settle(first, readUntil: .time(time), in: subject)
            let known = try #require(try await subject.known("1000")?.check)
            #expect(known.historySince == time && known.dueAt == Self.now)
        }
    }

    @Test(
        "if a period is granted while a worker reads the subscription's history, the history has to be read again",
        arguments: Implementation.allCases)
    func toldMeanwhile(implementation: Implementation) async throws {
        try await Subscriptions.with(implementation) { subject in
            _ = try await subject.grant("1000", original: "1000", at: -60, offset: 1, under: Self.app)
            _ = try await subject.grant("1001", original: "1000", at: 0, offset: 2, under: Self.app)
            let leased = try #require(try await subject.lease().first)
            _ = try await subject.grant("1002", original: "1000", at: 35, offset: 3, under: Self.app)
            var findings = SubscriptionFindings(
                [Subscriptions.status(Subscriptions.fact(.active, period: 35, at: 40))], of: leased.subscription,
                under: Self.app)
            findings.add(history: [], readUntil: .end, of: leased.subscription, under: Self.app, now: Self.now)
            _ = try await subject.subscriptions.settle(
                SubscriptionCheck(leased, findings, at: Self.now), catalog: Catalog(version: 1, apps: [Self.app]))
            #expect(try await subject.known("1000")?.check.historySince != nil)
        }
    }

    private func check(
        _ leased: LeasedSubscription, period days: Int64, readUntil: SubscriptionFindings.ReadUntil?,
        retryAfterSeconds: Double? = nil, in subject: FollowedSubscriptionsConformance.Subject
    ) async throws -> Timestamp? {
        let original = leased.originalTransactionID.text
        let status = Subscriptions.status(Subscriptions.fact(.active, original: original, period: days, at: 40))
        var findings = SubscriptionFindings([status], of: leased.subscription, under: Self.app)
        findings.retryAfterSeconds = retryAfterSeconds
        if let readUntil {
            findings.add(history: [], readUntil: readUntil, of: leased.subscription, under: Self.app, now: Self.now)
        }
        _ = try await subject.subscriptions.settle(
            SubscriptionCheck(leased, findings, at: Self.now), catalog: Catalog(version: 1, apps: [Self.app]))
        return findings.missedSince
    }

    @Test(
        "the worker searches Apple's history for a period without a grant, even if a later period is granted",
        arguments: Implementation.allCases)
    func notBrought(implementation: Implementation) async throws {
        try await Subscriptions.with(implementation) { subject in
            _ = try await subject.grant("1000", original: "1000", at: -30, offset: 1, under: Self.app)
            _ = try await subject.grant(
                "1001", original: "1000", at: 0, offset: 2, under: Self.app, .reject(.retiredProduct))
            _ = try await subject.grant("1002", original: "1000", at: 30, offset: 3, under: Self.app)
            let since = Subscriptions.base.adding(milliseconds: -30 * 86_400_000)
            let leased = try #require(try await subject.lease().first)
            #expect(leased.subscription.check.periodsSince == since)
            #expect(try await check(leased, period: 30, readUntil: .nowhere, in: subject) == since)
            let waiting = try #require(try await subject.known("1000"))
            #expect(waiting.check.historySince == since && waiting.check.periodsSince == nil)
            let again = LeasedSubscription(waiting, receipt: nil, lease: leased.lease)
            #expect(try await check(again, period: 30, readUntil: .end, in: subject) == since)
            let ended = try #require(try await subject.known("1000"))
            #expect(ended.check.historySince == nil && ended.check.periodsSince == nil)
            let last = LeasedSubscription(ended, receipt: nil, lease: leased.lease)
            #expect(try await check(last, period: 30, readUntil: nil, in: subject) == nil)
        }
    }

    @Test(
        "the worker searches Apple's history from the first grant to a later period that Apple had reported before",
        arguments: Implementation.allCases)
    func toldBeforeOwner(implementation: Implementation) async throws {
        try await Subscriptions.with(implementation) { subject in
            _ = try await subject.grant("1000", original: "1000", at: -60, offset: 1)
            let other = try #require(try await subject.lease().first)
            let told = [
                Subscriptions.fact(.expired, period: -60, at: 40),
                Subscriptions.fact(.active, original: "3000", period: 20, at: 30),
            ]
            _ = try await subject.settle(other, told, at: 40)
            _ = try await subject.grant("3000", original: "3000", at: -40, offset: 2, under: Self.app)
            let leased = try #require(try await subject.lease().first)
            #expect(leased.originalTransactionID == "3000")
            let since = Subscriptions.base.adding(milliseconds: -40 * 86_400_000)
            #expect(try await check(leased, period: 20, readUntil: .end, in: subject) == since)
            let known = try #require(try await subject.known("3000")?.check)
            #expect(known.historySince == nil && known.periodsSince == nil)
        }
    }

    @Test(
        "if a check gets a renewal's state but no history from Apple, the worker still has to read the history",
        arguments: Implementation.allCases)
    func punctualUnread(implementation: Implementation) async throws {
        try await Subscriptions.with(implementation) { subject in
            _ = try await subject.grant("1000", original: "1000", at: -30, offset: 1, under: Self.app)
            _ = try await subject.grant(
                "1001", original: "1000", at: 0, offset: 2, under: Self.app, .reject(.retiredProduct))
            let leased = try #require(try await subject.lease().first)
            let since = Subscriptions.base.adding(milliseconds: -30 * 86_400_000)
            #expect(try await check(leased, period: 30, readUntil: .nowhere, in: subject) == since)
            #expect(try await subject.known("1000")?.check.historySince == since)
        }
    }

    @Test(
        "if the request for Apple's history fails, a long expired subscription is due again after the failure's delay",
        arguments: Implementation.allCases)
    func historyFailed(implementation: Implementation) async throws {
        try await Subscriptions.with(implementation) { subject in
            _ = try await subject.grant("1000", original: "1000", at: -200, offset: 1, under: Self.app)
            let leased = try #require(try await subject.lease().first)
            let since = Subscriptions.base.adding(milliseconds: -200 * 86_400_000)
            #expect(
                try await check(leased, period: -160, readUntil: nil, retryAfterSeconds: 90, in: subject) == since)
            let known = try #require(try await subject.known("1000")?.check)
            #expect(known.historySince == since && known.dueAt == Self.now.adding(milliseconds: 90_000))
        }
    }
}
