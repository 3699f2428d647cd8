import Encodings
import NamesAndTimes
import Testing

@testable import Fulfillment

@Suite("The effect of a notification")
struct NotificationVerdictTests {
    private static let end = Sample.recordTime.adding(milliseconds: 86_400_000)

    private func told(
        _ id: StoreTransactionID = "2000", original: StoreTransactionID? = "1000",
        kind: ProductKind? = .autoRenewableSubscription, expiresAt: Timestamp? = end, revokedAt: Timestamp? = nil
    ) -> NotifiedTransaction {
        var purchase = Sample.purchase(id, original: original)
        purchase.expiresAt = expiresAt
        purchase.cancelledAt = revokedAt
        return NotifiedTransaction(
            purchase: purchase, kind: kind, bundleID: Sample.bundle, environment: .production)
    }

    private func renewal(
        _ original: StoreTransactionID = "1000", environment: StoreEnvironment? = .production
    ) -> SignedPart<RenewalInfo> {
        .told(
            RenewalInfo(
                originalTransactionID: original, renewalProductID: "gold.next", willRenew: false,
                graceExpiresAt: Self.end, environment: environment, signedAt: Sample.recordTime))
    }

    private func notification(
        _ type: String, _ subtype: String? = nil, _ transaction: StoreNotification.Transaction,
        renewal: SignedPart<RenewalInfo> = .none, state: SubscriptionState? = nil
    ) -> StoreNotification {
        var notification = StoreNotification(
            id: "n-1", type: type, subtype: subtype, signedAt: Sample.recordTime, bundleID: Sample.bundle,
            environment: .production, transaction: transaction, renewal: renewal)
        notification.state = state
        return notification
    }

    private func taken(_ notification: StoreNotification, under apps: [AppPolicy] = []) -> StoreNotice? {
        let catalog = Catalog(version: 1, apps: apps)
        guard case .taken(let notice) = notification.verdict(under: catalog, from: .history) else { return nil }
        return notice
    }

    @Test(
        "a notification of a charge, subscription, offer, renewal or upgrade announces its purchase",
        arguments: [
            ("ONE_TIME_CHARGE", nil), ("SUBSCRIBED", "INITIAL_BUY"), ("OFFER_REDEEMED", nil), ("DID_RENEW", nil),
            ("DID_CHANGE_RENEWAL_PREF", "UPGRADE"),
        ] as [(String, String?)])
    func purchases(_ type: String, _ subtype: String?) throws {
        let notice = try #require(taken(notification(type, subtype, .told(told()), renewal: renewal())))
        let purchase = try #require(notice.purchase)
        #expect(purchase.source == .history && purchase.submissionID == "apple-n-1" && purchase.isRenewal)
        #expect(purchase.graceExpiresAt == Self.end && purchase.toldAt == Sample.recordTime)
        #expect(notice.originals == ["1000"] && notice.refund == nil && notice.request == nil)
    }

    @Test("an announced consumable gives no subscription fact, and a subscription's first period is not a renewal")
    func firstPurchases() throws {
        let consumable = try #require(
            taken(notification("ONE_TIME_CHARGE", nil, .told(told("3000", original: nil, kind: .consumable)))))
        #expect(consumable.purchase?.isRenewal == false && consumable.fact == nil)
        let first = try #require(taken(notification("SUBSCRIBED", nil, .told(told("1000")))))
        #expect(first.purchase?.isRenewal == false && first.fact?.state == .active)
    }

    @Test("if an app follows renewals without Apple's API, a change of renewal status announces the running period")
    func periodOfState() throws {
        func announces(_ told: NotifiedTransaction, _ change: (inout AppPolicy) -> Void = { _ in }) throws -> Bool {
            var app = AppPolicy(bundleID: Sample.bundle)
            app.announcements.renewals = .follow
            change(&app)
            let told = notification("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", .told(told), renewal: renewal())
            return try #require(taken(told, under: [app])).purchase?.isRenewal == true
        }
        #expect(try announces(told()))
        #expect(try !announces(told("1000")))
        #expect(try !announces(told(expiresAt: Sample.recordTime)))
        #expect(try !announces(told(revokedAt: Sample.recordTime)))
        #expect(try !announces(told()) { $0.announcements.renewals = .off })
        #expect(
            try !announces(told()) {
                $0.serverAPI = ServerAPICredentials(issuerID: "i", keyID: "k", privateKeySetting: "s")
            })
    }

    @Test("a period without a signed type counts as a renewal only if the notification has renewal info")
    func renewalWithoutType() throws {
        let period = told(kind: nil)
        let renewed = try #require(taken(notification("DID_RENEW", nil, .told(period), renewal: renewal())))
        #expect(renewed.purchase?.isRenewal == true)
        let alone = try #require(taken(notification("ONE_TIME_CHARGE", nil, .told(period))))
        #expect(alone.purchase?.isRenewal == false)
    }

    @Test("a notification of any type with renewal info updates the subscription")
    func facts() throws {
        for type in ["DID_FAIL_TO_RENEW", "EXPIRED", "PRICE_INCREASE", "SOMETHING_NEW", "DID_CHANGE_RENEWAL_PREF"] {
            let notice = try #require(
                taken(notification(type, nil, .told(told()), renewal: renewal(), state: .gracePeriod)))
            let fact = try #require(notice.fact, "\(type)")
            #expect(fact.state == .gracePeriod && fact.originalTransactionID == "1000" && fact.expiresAt == Self.end)
            #expect(fact.willRenew == false && fact.renewalProductID == "gold.next")
            #expect(notice.purchase == nil && notice.refund == nil)
        }
        #expect(taken(notification("EXPIRED", nil, .told(told())))?.isUnconcerned == true)
    }

    @Test("a REFUND of an ended period gives no fact about the subscription; a REVOKE of the period gives a fact")
    func refundedPeriod() throws {
        let over = told(expiresAt: Sample.recordTime, revokedAt: Sample.recordTime)
        let refund = try #require(
            taken(notification("REFUND", nil, .told(over), renewal: renewal(), state: .active)))
        #expect(refund.refund != nil && refund.fact == nil)
        let whole = try #require(
            taken(notification("REVOKE", nil, .told(over), renewal: renewal(), state: .revoked)))
        #expect(whole.fact?.state == .revoked && whole.refund?.change == .revoked(.revoke, at: Sample.recordTime))
    }

    @Test("a refund reversal of an ended period gives the subscription no state that contradicts the period's dates")
    func reversedPeriod() throws {
        let over = told(expiresAt: Sample.recordTime)
        // Apple's status `active` belongs to a later period, so this notification gives no fact about the subscription.
        let old = try #require(taken(notification("REFUND_REVERSED", nil, .told(over), state: .active)))
        #expect(old.fact == nil && old.refund?.change == .reversed)
        let ended = try #require(taken(notification("REFUND_REVERSED", nil, .told(over), state: .expired)))
        #expect(ended.fact?.state == .expired && ended.refund?.change == .reversed)
        var subscription = Subscription(
            try #require(
                taken(
                    notification(
                        "REFUND", nil, .told(told(revokedAt: Sample.recordTime)), renewal: renewal(), state: .revoked)
                )?.fact), player: "p")
        #expect(subscription.state == .revoked)
        let retried = try #require(
            taken(notification("REFUND_REVERSED", nil, .told(over), renewal: renewal(), state: .billingRetry))?.fact)
        #expect(retried.state == .gracePeriod)
        var later = retried
        later.toldAt = Sample.recordTime.adding(milliseconds: 1)
        #expect(subscription.hear(later) == .changed && subscription.state == .gracePeriod)
        let running = try #require(
            taken(notification("REFUND_REVERSED", nil, .told(told()), renewal: renewal(), state: .billingRetry)))
        #expect(running.fact?.state == .billingRetry)
    }

    @Test("a refund of subtype SEATS revokes no grant")
    func seats() throws {
        let notice = try #require(
            taken(notification("REFUND", "SEATS", .told(told(revokedAt: Sample.recordTime)), renewal: renewal())))
        #expect(notice.refund == nil)
    }

    @Test("if a notification other than REFUND has a revocation date, receiptd treats the notification as a refund")
    func shown() throws {
        let notice = try #require(
            taken(notification("EXPIRED", nil, .told(told(revokedAt: Sample.recordTime)), renewal: renewal())))
        #expect(notice.refund?.id == nil && notice.refund?.change == .revoked(.refund, at: Sample.recordTime))
    }

    @Test("a CONSUMPTION_REQUEST names its transaction and reason, and receiptd must answer it within twelve hours")
    func request() throws {
        var asked = notification("CONSUMPTION_REQUEST", nil, .told(told("3000", original: nil, kind: .consumable)))
        asked.consumptionRequestReason = "LEGAL"
        let request = try #require(taken(asked)?.request)
        #expect(request.transactionID == "3000" && request.reason == "LEGAL" && request.id == "n-1")
        #expect(request.answerBy == Sample.recordTime.adding(milliseconds: 43_200_000))
        #expect(taken(notification("CONSUMPTION_REQUEST", nil, .none)) == nil)
    }

    @Test("a notification without proven data, or with renewal info of another subscription or environment, is refused")
    func deadLetters() {
        let wrong: [StoreNotification] = [
            notification("DID_RENEW", nil, .none, renewal: renewal()),
            notification("DID_RENEW", nil, .notProvable("why"), renewal: renewal()),
            notification("DID_RENEW", nil, .told(told()), renewal: .unusable("why")),
            notification("DID_RENEW", nil, .told(told()), renewal: .notProvable("why")),
            notification("DID_RENEW", nil, .told(told()), renewal: renewal("1001")),
            notification("DID_RENEW", nil, .told(told()), renewal: renewal(environment: .sandbox)),
            notification("EXPIRED", nil, .none, renewal: renewal(environment: nil)),
        ]
        for notification in wrong { #expect(taken(notification) == nil, "\(notification)") }
    }
}

@Suite("Partial refunds of a grant")
struct RefundedPartTests {
    @Test("if Apple refunds more than before, receiptd publishes the revoked units; if as much or less, nothing")
    func growing() throws {
        var view = RefundView(grants: ["1000": RefundTests.grant()])
        func refund(_ part: Int32?, _ id: Identifier, after seconds: Int64) -> RefundEffect {
            RefundTests.notice(id: id, after: seconds, about: RefundTests.told(milliPercent: part))
                .settle(in: &view, at: Sample.recordTime, catalog: RefundTests.catalog)
        }
        guard case .published(let first) = refund(33_333, "a", after: 1) else { return #expect(Bool(false)) }
        #expect(first.member("units") == .number("1") && first.member("revocation_percentage") == .number("33333"))
        #expect(refund(33_333, "b", after: 2) == .remembered)
        #expect(refund(20_000, "c", after: 3) == .remembered)
        guard case .published(let second) = refund(nil, "d", after: 4) else { return #expect(Bool(false)) }
        #expect(second.member("units") == .number("3") && second.member("revocation_percentage") == .number("100000"))
        #expect(second.eventID == OutcomeEvent.eventID(.revoked, transaction: "1000", revision: 3))
        #expect(view.grants["1000"]?.revokedAt == RefundTests.refundedAt)
    }
}
