import Fulfillment
import NamesAndTimes
import TestSupport
import Testing

@testable import Pipeline

/// Tests an app with a shared secret and no credentials for the App Store Server API.
@Suite("Grace periods that the ledger knows from notifications")
struct GraceTests {
    private static let day: Int64 = 86_400_000
    /// The time of the record at offset 1.
    private static var now: Timestamp { ParkingBench.position(1).timestamp }

    private static var app: AppPolicy {
        var app = ParkingBench.app
        app.announcements.renewals = .follow
        app.products["monthly"] = Product(id: "monthly", kind: .autoRenewableSubscription)
        return app
    }

    /// A period that ended a day before `now`.
    private static var period: StorePurchase {
        var period = StorePurchase(
            transactionID: "1001", originalTransactionID: "1000", productID: "monthly",
            purchasedAt: now.adding(milliseconds: -31 * day),
            expiresAt: now.adding(milliseconds: -day))
        period.type = .known(.autoRenewableSubscription)
        return period
    }

    /// The subscription's state from a day before the period's end, when Apple reported that a renewal failed.
    private static func subscription(_ period: StorePurchase, graceDays: Int64?) -> Subscription {
        Subscription(fact(period, graceDays: graceDays), player: "player-1")
    }

    private static func fact(_ period: StorePurchase, graceDays: Int64?) -> SubscriptionFact {
        var fact = SubscriptionFact(
            originalTransactionID: "1000", bundleID: ParkingBench.bundle, environment: .production,
            productID: "monthly", state: .gracePeriod, toldAt: now.adding(milliseconds: -2 * day))
        fact.periodBeganAt = period.purchasedAt
        fact.expiresAt = period.expiresAt
        fact.graceExpiresAt = graceDays.map { now.adding(milliseconds: $0 * day) }
        return fact
    }

    private func verdict(
        renewals: AnnouncementPolicy.RenewalPolicy = .follow,
        _ prepare: (ParkingBench, StorePurchase) -> Void, _ whileWaiting: (ParkingBench) async throws -> Void = { _ in }
    ) async throws -> JudgedPurchase.Verdict? {
        let bench = try ParkingBench(parkAfterSeconds: 30)
        defer { bench.close() }
        var app = Self.app
        app.announcements.renewals = renewals
        let catalog = Catalog(version: 1, apps: [app])
        bench.catalog.update { $0 = catalog }
        let period = Self.period
        bench.apple.answer(
            .genuine(
                GenuineReceipt(
                    bundleID: ParkingBench.bundle, environment: .production, purchases: [period],
                    holdsAutoRenewable: true)))
        prepare(bench, period)
        async let worked: Void = bench.work(on: bench.item(ParkingBench.submission("r")))
        try await whileWaiting(bench)
        try await worked
        #expect(bench.queries.asked.isEmpty)
        guard case .each(let judged) = bench.ledger.decisions.first?.verdict else { return nil }
        return judged.first?.verdict
    }

    @Test(
        "the worker grants an expired subscription period within a known grace period, and otherwise rejects the period"
    )
    func known() async throws {
        let inGrace = try await verdict { $0.subscriptions.follow(Self.subscription($1, graceDays: 5)) }
        #expect(inGrace == .grant(payload: nil))
        let isOver = try await verdict { $0.subscriptions.follow(Self.subscription($1, graceDays: nil)) }
        #expect(isOver == .reject(.subscriptionExpired))
        let unknown = try await verdict { _, _ in }
        #expect(unknown == .reject(.subscriptionExpired))
    }

    @Test(
        "if a notification named a grace period before any grant, the worker grants an expired period within it",
        arguments: [AnnouncementPolicy.RenewalPolicy.follow, .off])
    func toldBefore(renewals: AnnouncementPolicy.RenewalPolicy) async throws {
        let inGrace = try await verdict(renewals: renewals) { $0.subscriptions.keep(Self.fact($1, graceDays: 5)) }
        #expect(inGrace == .grant(payload: nil))
        let isOver = try await verdict(renewals: renewals) { $0.subscriptions.keep(Self.fact($1, graceDays: nil)) }
        #expect(isOver == .reject(.subscriptionExpired))
    }

    @Test("while the worker cannot read the ledger, it does not decide an expired subscription period")
    func unreadable() async throws {
        let verdict = try await verdict { bench, period in
            bench.subscriptions.follow(Self.subscription(period, graceDays: 5))
            bench.subscriptions.setUnreadable(true)
        } _: { bench in
            try await bench.changes.until("it was tried again") { bench.apple.asked.count >= 2 }
            #expect(bench.ledger.decisions.isEmpty)
            bench.subscriptions.setUnreadable(false)
        }
        #expect(verdict == .grant(payload: nil))
    }
}
