import Encodings
import Fulfillment
import NamesAndTimes
import TestSupport
import Testing

@Suite("The state and the checks of a subscription")
struct SubscriptionTests {
    private static let bundle: BundleID = "com.example.game"
    private static let start = Timestamp(milliseconds: 1_795_176_000_000)

    private static func fact(
        _ state: SubscriptionState, period: Int64 = 0, at minute: Int64, until end: Int64? = nil
    ) -> SubscriptionFact {
        var fact = SubscriptionFact(
            originalTransactionID: "1000", bundleID: bundle, environment: .production, productID: "monthly",
            state: state, toldAt: start.adding(milliseconds: minute * 60_000))
        fact.periodBeganAt = start.adding(milliseconds: period * 60_000)
        fact.expiresAt = start.adding(milliseconds: (end ?? period + 100) * 60_000)
        return fact
    }

    private static func heard(_ facts: [SubscriptionFact]) -> Subscription? {
        guard let first = facts.first else { return nil }
        var subscription = Subscription(first, player: "p")
        for fact in facts.dropFirst() { _ = subscription.hear(fact) }
        return subscription
    }

    @Test("an older fact from Apple does not change a subscription that already has a newer fact")
    func older() throws {
        var subscription = Subscription(Self.fact(.billingRetry, at: 5), player: "p")
        #expect(subscription.hear(Self.fact(.active, at: 4)) == .known)
        #expect(subscription.state == .billingRetry && subscription.revision == 1)
        #expect(subscription.hear(Self.fact(.expired, at: 6)) == .changed)
        #expect(subscription.hear(Self.fact(.expired, at: 6)) == .known)
        #expect(subscription.hear(Self.fact(.expired, at: 7)) == .confirmed)
        #expect(subscription.state == .expired && subscription.revision == 2)
    }

    @Test("a refund of an earlier period does not change the state of the running period")
    func earlierPeriod() {
        var subscription = Subscription(Self.fact(.active, period: 100, at: 101), player: "p")
        #expect(subscription.hear(Self.fact(.revoked, period: 0, at: 150)) == .known)
        #expect(subscription.state == .active)
        #expect(subscription.hear(Self.fact(.revoked, period: 100, at: 151)) == .changed)
    }

    @Test("a fact about only a period changes the subscription only if the period is newer than the known period")
    func periodOnly() {
        var subscription = Subscription(Self.fact(.billingRetry, at: 101), player: "p")
        var shown = Self.fact(.active, at: 120)
        shown.isOfPeriodOnly = true
        #expect(subscription.hear(shown) == .known)
        shown = Self.fact(.active, period: 110, at: 120)
        shown.isOfPeriodOnly = true
        #expect(subscription.hear(shown) == .changed)
        #expect(subscription.hear(Self.fact(.gracePeriod, period: 110, at: 111)) == .changed)
    }

    @Test("Apple's facts give the same subscription in any order, with or without repetition", arguments: 0..<200)
    func anyOrder(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var facts: [SubscriptionFact] = []
        // The loop makes the life of one subscription at Apple. Each fact is true in the minute in which Apple reports
        // the fact.
        var (period, renews) = (Int64(0), true)
        for minute in Int64(1)...40 {
            if Int.random(in: 0..<5, using: &random) == 0 { period = minute }
            if Int.random(in: 0..<6, using: &random) == 0 { renews.toggle() }
            let state = SubscriptionState.allCases.randomElement(using: &random) ?? .active
            var fact = Self.fact(
                state, period: period, at: minute, until: period + Int64.random(in: 1...9, using: &random))
            switch Int.random(in: 0..<4, using: &random) {
            case 0: fact.isOfPeriodOnly = true
            case 1: fact.willRenew = renews
            case 2: fact.renewalProductID = Identifier("p\(minute % 3)")
            default: fact.graceExpiresAt = fact.expiresAt?.adding(milliseconds: 60_000)
            }
            if fact.isOfPeriodOnly {
                // A fact that describes only its own period is the same whenever Apple shows it.
                fact.state = .active
                fact.expiresAt = Self.start.adding(milliseconds: (period + 100) * 60_000)
            }
            facts.append(fact)
        }
        let expected = try #require(Self.heard(facts))
        for _ in 0..<20 {
            let again = facts + facts.shuffled(using: &random).prefix(10)
            var ended = try #require(Self.heard(again.shuffled(using: &random)))
            #expect(ended.told == expected.told)
            ended = Self.renumbered(ended, expected.revision)
            #expect(ended == expected, "seed \(seed)")
        }
    }

    /// Returns the subscription with this revision. The number of changes depends on the order of the facts, the final
    /// state does not.
    private static func renumbered(_ subscription: Subscription, _ revision: Int32) -> Subscription {
        var fact = SubscriptionFact(
            originalTransactionID: subscription.originalTransactionID, bundleID: subscription.bundleID,
            environment: subscription.environment, productID: subscription.productID, state: subscription.state,
            toldAt: start)
        fact.subscriptionGroupID = subscription.subscriptionGroupID
        fact.expiresAt = subscription.expiresAt
        fact.graceExpiresAt = subscription.graceExpiresAt
        fact.willRenew = subscription.willRenew
        fact.renewalProductID = subscription.renewalProductID
        return Subscription(
            stored: fact, player: subscription.player, revision: revision, told: subscription.told,
            check: subscription.check)
    }

    @Test(
        "receiptd checks a subscription 5 minutes after a period, then at growing intervals for 60 days or until expiry"
    )
    func schedule() throws {
        let end = Self.start.adding(milliseconds: 100 * 60_000)
        var subscription = Subscription(Self.fact(.active, at: 1), player: "p")
        subscription.scheduleCheck(after: .changed, isCheck: false, at: Self.start, jitter: 0)
        #expect(subscription.check.dueAt == end.adding(milliseconds: 5 * 60_000))

        var now = end.adding(milliseconds: 5 * 60_000)
        var hearing = subscription.hear(Self.fact(.billingRetry, at: 105))
        var distances: [Int64] = []
        while true {
            subscription.scheduleCheck(after: hearing, isCheck: true, at: now, jitter: 0)
            guard let due = subscription.check.dueAt else { break }
            distances.append((due.milliseconds - now.milliseconds) / 60_000)
            now = due
            hearing = subscription.hear(Self.fact(.billingRetry, at: 105 + Int64(distances.count)))
            try #require(distances.count < 1000)
        }
        #expect(distances.prefix(7) == [30, 60, 120, 240, 480, 960, 1440])
        #expect(now.milliseconds - end.milliseconds <= 60 * 86_400_000)
        #expect(now.milliseconds - end.milliseconds > 58 * 86_400_000)

        hearing = subscription.hear(Self.fact(.active, period: 500, at: 2000, until: 3000))
        subscription.scheduleCheck(after: hearing, isCheck: false, at: Self.start, jitter: 0)
        #expect(subscription.check.dueAt == Self.start.adding(milliseconds: 3005 * 60_000))
        hearing = subscription.hear(Self.fact(.expired, period: 500, at: 3001, until: 3000))
        subscription.scheduleCheck(after: hearing, isCheck: false, at: Self.start, jitter: 0)
        #expect(subscription.check.dueAt == nil)
    }

    @Test(
        "if a new period begins over an hour off the known end, a check reads Apple's history from the known start",
        arguments: [(100, false), (130, false), (161, true), (300, true), (39, true), (90, false)])
    func missed(began: Int64, isMissed: Bool) {
        let now = Self.start.adding(milliseconds: 400 * 60_000)
        for search in [MissedPeriodSearch.always, .whileItRuns, .never] {
            var subscription = Subscription(Self.fact(.active, at: 1), player: "p")
            let hearing = subscription.hear(Self.fact(.active, period: began, at: 400, until: 500), search)
            subscription.scheduleCheck(after: hearing, isCheck: false, at: now, jitter: 0)
            let isLookedFor = isMissed && search == .always
            #expect(subscription.check.historySince == (isLookedFor ? Self.start : nil))
            let afterEnd = Self.start.adding(milliseconds: 505 * 60_000)
            #expect(subscription.check.dueAt == (isLookedFor ? now : afterEnd))
        }
    }

    @Test(
        "if receiptd grants no late periods, a check still reads Apple's history while a missed period may be running")
    func missedAndRunning() {
        var subscription = Subscription(Self.fact(.active, at: 1), player: "p")
        _ = subscription.hear(Self.fact(.active, period: 300, at: 250, until: 500), .whileItRuns)
        #expect(subscription.check.historySince == Self.start)
    }

    @Test(
        "if a check could not read Apple's history, the check repeats at growing intervals, a bounded number of times")
    func unreadHistory() throws {
        var subscription = Subscription(Self.fact(.active, at: 1), player: "p")
        var hearing = subscription.hear(Self.fact(.expired, period: 300, at: 400, until: 400), .always)
        var now = Self.start.adding(milliseconds: 400 * 60_000)
        var distances: [Int64] = []
        while true {
            subscription.scheduleCheck(after: hearing, isCheck: true, at: now, jitter: 0)
            guard let due = subscription.check.dueAt else { break }
            distances.append((due.milliseconds - now.milliseconds) / 60_000)
            now = due
            hearing = .confirmed
            try #require(distances.count < 1000)
        }
        #expect(distances.prefix(7) == [30, 60, 120, 240, 480, 960, 1440])
        #expect(distances.count < 70 && subscription.check.historySince != nil)
    }

    @Test("the event of a changed subscription has the state, and only the known fields")
    func event() throws {
        var fact = Self.fact(.gracePeriod, at: 1)
        fact.graceExpiresAt = Self.start.adding(milliseconds: 7_200_000)
        fact.willRenew = false
        let event = OutcomeEvent.subscriptionChanged(Subscription(fact, player: "p"), at: Self.start)
        let json = try JSONParser.parse(event.value).value
        #expect(json["type"]?.string == "subscription.changed" && json["player_id"]?.string == "p")
        #expect(json["original_transaction_id"]?.string == "1000" && json["state"]?.string == "grace_period")
        #expect(json["grace_expires_at"]?.string != nil && json["will_renew"] == .bool(false))
        #expect(json["revision"] == .number("1") && json["renewal_product_id"] == nil && json["submission_id"] == nil)
        #expect(event.subject == "1000")
        #expect(OutcomeEvent(stored: event.value) == event)
    }

    /// Returns the facts in a submission's evidence of one period that lasts 100 minutes.
    private static func told(
        at minute: Int64, refundedAt refund: Int64? = nil, besides others: [SubscriptionFact] = []
    ) -> [SubscriptionFact] {
        var app = AppPolicy(bundleID: Self.bundle)
        app.products["monthly"] = Product(id: "monthly", kind: .autoRenewableSubscription)
        app.announcements.renewals = .follow
        var period = StorePurchase(
            transactionID: "1001", originalTransactionID: "1000", productID: "monthly", purchasedAt: start,
            expiresAt: start.adding(milliseconds: 100 * 60_000))
        period.cancelledAt = refund.map { start.adding(milliseconds: $0 * 60_000) }
        let evidence = GenuineReceipt(
            bundleID: bundle, environment: .production, purchases: [period], holdsAutoRenewable: true)
        return ToldSubscriptions(
            evidence, besides: others, submitted: nil, under: app, now: start.adding(milliseconds: minute * 60_000)
        ).facts
    }

    @Test("if Apple's status describes a subscription, a submitted period adds no fact about the subscription's state")
    func periodBesideStatus() {
        #expect(Self.told(at: 200).map(\.state) == [.expired])
        let status = Self.fact(.gracePeriod, at: 200)
        #expect(Self.told(at: 200, besides: [status]).map(\.state) == [.gracePeriod])
    }

    @Test("a refund in a submission's evidence does not revoke a subscription that Apple later reported as active")
    func reversedRefund() throws {
        let refund = try #require(Self.told(at: 90, refundedAt: 50).first)
        #expect(Self.heard([Self.fact(.active, at: 60), refund])?.state == .active)
        #expect(Self.heard([Self.fact(.active, at: 40), refund])?.state == .revoked)
    }
}
