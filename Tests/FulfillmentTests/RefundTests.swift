import Encodings
import NamesAndTimes
import Testing

@testable import Fulfillment

@Suite("Refunds of granted purchases")
struct RefundTests {
    static let day = Sample.recordTime
    static let refundedAt = day.adding(milliseconds: -1000)

    static func told(
        _ id: StoreTransactionID = "1000", original: StoreTransactionID? = nil, kind: ProductKind = .consumable,
        bundle: BundleID = Sample.bundle, environment: StoreEnvironment = .production, milliPercent: Int32? = nil,
        revokedAt: Timestamp? = refundedAt
    ) -> NotifiedTransaction {
        var purchase = Sample.purchase(id, original: original)
        purchase.cancelledAt = revokedAt
        return NotifiedTransaction(
            purchase: purchase, kind: kind, bundleID: bundle, environment: environment,
            refundedMilliPercent: milliPercent)
    }

    static func notification(
        _ type: String, _ transaction: StoreNotification.Transaction? = nil, bundle: BundleID? = Sample.bundle,
        appAppleID: Int64? = 77, environment: StoreEnvironment? = .production
    ) -> StoreNotification {
        StoreNotification(
            id: "n-1", type: type, signedAt: day, bundleID: bundle, appAppleID: appAppleID, environment: environment,
            transaction: transaction ?? .told(told()))
    }

    static func notice(
        _ change: RefundNotice.Change = .revoked(.refund, at: refundedAt), id: Identifier = "n-1",
        after seconds: Int64 = 0, about transaction: NotifiedTransaction = told()
    ) -> RefundNotice {
        RefundNotice(
            id: id, change: change, signedAt: day.adding(milliseconds: seconds * 1000), transaction: transaction)
    }

    static func grant(
        _ id: StoreTransactionID = "1000", original: StoreTransactionID? = nil, revokedAt: Timestamp? = nil,
        orderID: String? = "order-7", isImported: Bool = false
    ) -> GrantedPurchase {
        let purchase = Sample.purchase(id, original: original)
        let event = OutcomeEvent.granted(
            purchase, payload: #"{"gold":1}"#, to: Sample.submission(orderID: orderID), environment: .production,
            at: day, transactions: [])
        return GrantedPurchase(
            transactionID: id, originalTransactionID: isImported ? nil : purchase.originalTransactionID,
            player: "player-1", bundleID: Sample.bundle, productID: Sample.product, quantity: 3,
            environment: .production, purchasedAt: isImported ? nil : purchase.purchasedAt,
            submissionID: "submission-1",
            revocations: GrantRevocations(apple: revokedAt.map { .init(at: $0, reason: .refund) }),
            event: isImported ? nil : event.value)
    }

    static let catalog: Catalog = {
        var product = Product(id: Sample.product, kind: .consumable)
        product.payload = #"{"gold":100}"#
        var app = Sample.app([product])
        app.appAppleID = 77
        return Catalog(version: 1, apps: [app])
    }()

    private static func refund(_ notification: StoreNotification) -> RefundNotice? {
        guard case .taken(let notice) = notification.verdict(under: catalog, from: .notification) else { return nil }
        return notice.refund
    }

    func settle(_ notice: RefundNotice, in view: inout RefundView) -> RefundEffect {
        notice.settle(in: &view, at: Self.day, catalog: Self.catalog)
    }

    @Test("receiptd acts only on REFUND, REVOKE and REFUND_REVERSED notifications")
    func types() {
        for (type, change) in [
            ("REFUND", RefundNotice.Change.revoked(.refund, at: Self.refundedAt)),
            ("REVOKE", .revoked(.revoke, at: Self.refundedAt)), ("REFUND_REVERSED", .reversed),
        ] {
            guard let notice = Self.refund(Self.notification(type)) else {
                Issue.record("\(type) is no refund")
                continue
            }
            #expect(notice.change == change && notice.transactionID == "1000")
        }
        for type in ["TEST", "REFUND_DECLINED", "REVOKED", "refund", ""] {
            let verdict = Self.notification(type, StoreNotification.Transaction.none, bundle: nil).verdict(
                under: Self.catalog, from: .notification)
            guard case .taken(let notice) = verdict else {
                Issue.record("a dead letter: \(type)")
                continue
            }
            #expect(notice.isUnconcerned, "\(type)")
        }
    }

    @Test("the event of a reinstated grant has the price facts of the grant and the payload from the catalog")
    func reinstatedFacts() throws {
        var purchase = Sample.purchase()
        purchase.currency = "EUR"
        purchase.told = PurchaseFacts(priceMilliunits: 1990, storefront: "DEU", isTrial: true)
        let granted = OutcomeEvent.granted(
            purchase, payload: nil, to: Sample.submission(), environment: .production, at: Self.day, transactions: [])
        let grant = GrantedPurchase(
            transactionID: "1000", originalTransactionID: "1000", player: "player-1", bundleID: Sample.bundle,
            productID: Sample.product, quantity: 1, environment: .production, purchasedAt: purchase.purchasedAt,
            submissionID: "submission-1", event: granted.value)
        let facts = #""price_milliunits":1990,"currency":"EUR","storefront":"DEU","is_trial":true"#
        var changed = grant
        let revocation = GrantRevocations.Revocation(at: Self.day, reason: .refund)
        let taken = changed.tell(.revoked(revocation), at: Self.day, catalog: Self.catalog)
        let revoked = try #require(taken)
        #expect(!revoked.text.contains("price_milliunits"))
        let again = changed.tell(.reinstated, at: Self.day, catalog: Self.catalog)
        let event = try #require(again)
        #expect(event.text.contains(facts) && event.text.contains(#""payload":{"gold":100}"#))
    }

    @Test("if a refund notification has no revocation date, receiptd takes the notification's signing time")
    func time() {
        let undated = Self.notification("REFUND", .told(Self.told(revokedAt: nil)))
        #expect(Self.refund(undated)?.change == .revoked(.refund, at: Self.day))
    }

    @Test(
        "a REFUND without a transaction, of another app or environment, or without Apple's app id is a dead letter"
    )
    func deadLetters() {
        let wrong: [StoreNotification] = [
            Self.notification("REFUND", StoreNotification.Transaction.none),
            Self.notification("REFUND", .unusable("why")), Self.notification("REFUND", environment: .sandbox),
            Self.notification("REFUND", bundle: "com.example.other"),
            Self.notification("REFUND", bundle: nil, environment: nil),
            Self.notification("REFUND", appAppleID: 78), Self.notification("REFUND", appAppleID: nil),
        ]
        for notification in wrong {
            guard case .deadLetter(let letter) = notification.verdict(under: Self.catalog, from: .notification) else {
                Issue.record("taken: \(notification)")
                continue
            }
            #expect(letter.reason == .malformedMessage && letter.sender == nil)
        }
        let sandbox = Self.notification(
            "REFUND", .told(Self.told(environment: .sandbox)), appAppleID: nil, environment: .sandbox)
        let unknown = Self.notification(
            "REFUND", .told(Self.told(bundle: "com.example.new")), bundle: "com.example.new", appAppleID: 5)
        for notification in [sandbox, unknown, Self.notification("REFUND", appAppleID: 77)] {
            #expect(Self.refund(notification) != nil, "not taken: \(notification)")
        }
    }

    @Test("the events of a revoked and then reinstated grant have growing revisions and the facts of the grant")
    func events() throws {
        var view = RefundView(grants: ["1000": Self.grant()])
        guard case .published(let revoked) = settle(Self.notice(), in: &view) else { return #expect(Bool(false)) }
        #expect(revoked.kind == .revoked && revoked.reason == .refund && revoked.subject == "1000")
        #expect(revoked.eventID == OutcomeEvent.eventID(.revoked, transaction: "1000", revision: 2))
        #expect(revoked.member("revision") == .number("2") && revoked.member("quantity") == .number("3"))
        #expect(revoked.member("order_id")?.string == "order-7" && revoked.member("payload") == nil)
        #expect(revoked.member("reason")?.string == "refund")
        #expect(revoked.member("units") == .number("3") && revoked.member("revocation_percentage") == .number("100000"))
        #expect(view.grants["1000"]?.revokedAt == Self.refundedAt)
        #expect(OutcomeEvent(stored: revoked.value) == revoked)

        let back = settle(Self.notice(.reversed, id: "n-2", after: 1), in: &view)
        guard case .published(let reinstated) = back else { return #expect(Bool(false)) }
        #expect(reinstated.kind == .reinstated && reinstated.reason == nil)
        #expect(reinstated.eventID == OutcomeEvent.eventID(.reinstated, transaction: "1000", revision: 3))
        #expect(reinstated.member("payload")?["gold"] == .number("100") && reinstated.member("reason") == nil)
        #expect(reinstated.member("order_id")?.string == "order-7")
        #expect(view.grants["1000"]?.revokedAt == nil && view.grants["1000"]?.revision == 3)
        #expect(OutcomeEvent(stored: reinstated.value) == reinstated)
    }

    @Test("if the catalog no longer has the product, the reinstatement event has the payload of the grant")
    func payloadOfTheGrant() {
        var view = RefundView(grants: ["1000": Self.grant(revokedAt: Self.refundedAt)])
        let effect = Self.notice(.reversed).settle(in: &view, at: Self.day, catalog: Catalog(version: 2, apps: []))
        guard case .published(let event) = effect else { return #expect(Bool(false)) }
        #expect(event.member("payload")?["gold"] == .number("1"))
    }

    @Test("the revocation event of an imported grant has the original transaction and date that Apple reports")
    func importedGrant() {
        var view = RefundView(grants: ["1000": Self.grant(isImported: true)])
        guard case .published(let event) = settle(Self.notice(), in: &view) else { return #expect(Bool(false)) }
        #expect(event.member("order_id") == nil && event.member("original_transaction_id")?.string == "1000")
        #expect(event.member("purchased_at")?.string == Sample.purchaseTime.rfc3339)
    }

    @Test("a refund notification that is repeated, older or without effect makes no event")
    func nothingNew() {
        var view = RefundView(grants: ["1000": Self.grant()])
        #expect(settle(Self.notice(after: 5), in: &view).name == "revoked")
        #expect(settle(Self.notice(after: 9), in: &view) == .duplicate)
        #expect(settle(Self.notice(.reversed, id: "n-2", after: 4), in: &view) == .outdated)
        #expect(settle(Self.notice(.revoked(.revoke, at: Self.day), id: "n-3", after: 6), in: &view) == .remembered)
        #expect(view.grants["1000"]?.revision == 2)
        #expect(view.states[Self.notice().key]?.reason == .revoke)
        #expect(settle(Self.notice(.reversed, id: "n-4", after: 6), in: &view).name == "reinstated")
        #expect(settle(Self.notice(.reversed, id: "n-5", after: 7), in: &view) == .remembered)
        #expect(settle(Self.notice(id: "n-1", after: 8), in: &view) == .duplicate)
    }

    @Test("a refund of the same transaction id in another app or environment leaves the grant unchanged")
    func otherKey() {
        var view = RefundView(grants: ["1000": Self.grant()])
        #expect(settle(Self.notice(about: Self.told(environment: .sandbox)), in: &view) == .remembered)
        #expect(settle(Self.notice(id: "n-2", about: Self.told(bundle: "com.example.other")), in: &view) == .remembered)
        #expect(view.grants["1000"]?.revokedAt == nil)
        #expect(settle(Self.notice(id: "n-3"), in: &view).name == "revoked")
    }

    @Test("a refund of a non-consumable revokes its restored copy, unless the copy was bought after the refund")
    func restored() {
        let restored = Self.grant("1001", original: "1000")
        func view() -> RefundView { RefundView(grants: ["1001": restored], grantedUnder: ["1000": "1001"]) }
        var known = view()
        let told = Self.told(kind: .nonConsumable)
        guard case .published(let event) = settle(Self.notice(about: told), in: &known) else {
            return #expect(Bool(false))
        }
        #expect(event.subject == "1001")
        #expect(settle(Self.notice(.reversed, id: "n-2", after: 1, about: told), in: &known).name == "reinstated")
        var consumable = view()
        #expect(settle(Self.notice(about: Self.told()), in: &consumable) == .remembered)
        var boughtAgain = view()
        let before = Sample.purchaseTime.adding(milliseconds: -1)
        #expect(settle(Self.notice(.revoked(.refund, at: before), about: told), in: &boughtAgain) == .remembered)
    }

    @Test(
        "the detail of a revocation says how much of the purchase Apple refunded",
        arguments: [
            (nil, "Apple has refunded the purchase."), (100_000, "Apple has refunded the purchase."),
            (0, "Apple has refunded the purchase."), (-5, "Apple has refunded the purchase."),
            (33_333, "Apple has refunded 33.33 percent of the purchase."),
            (50, "Apple has refunded 0.05 percent of the purchase."),
        ] as [(Int32?, String)])
    func part(_ milliPercent: Int32?, _ sentence: String) {
        var view = RefundView(grants: ["1000": Self.grant()])
        let effect = settle(Self.notice(about: Self.told(milliPercent: milliPercent)), in: &view)
        guard case .published(let event) = effect else { return #expect(Bool(false)) }
        #expect(event.member("detail")?.string == sentence)
    }
}

@Suite("Purchases that Apple refunded before the grant")
struct RefundedPurchaseTests {
    private func view(_ transaction: StoreTransactionID = "1000", at time: Timestamp = Sample.recordTime) -> LedgerView
    {
        var view = LedgerView()
        view.refunds[
            RefundKey(transactionID: transaction, bundleID: Sample.bundle, environment: .production)] =
            RefundState(words: [RefundWord(shown: GrantRevocations.Revocation(at: time, reason: .refund))])
        return view
    }

    private func reason(_ judged: JudgedPurchase, in view: LedgerView) -> Reason? {
        var view = view
        return Sample.decision(.each([judged])).settle(in: &view).answer?.reason
    }

    @Test("a refunded purchase is rejected as cancelled, even if it breaks another rule, except for binding_mismatch")
    func cancelled() {
        let purchase = Sample.purchase()
        #expect(reason(Sample.judged(purchase), in: view()) == .cancelled)
        #expect(reason(Sample.judged(purchase, nil, .hold(.unknownProduct)), in: view()) == .cancelled)
        #expect(reason(Sample.judged(purchase, .consumable, .reject(.familyShared)), in: view()) == .cancelled)
        #expect(reason(Sample.judged(purchase, .consumable, .reject(.bindingMismatch)), in: view()) == .bindingMismatch)
        #expect(reason(Sample.judged(Sample.purchase("1001")), in: view()) == nil)
    }

    @Test("after a revocation, a repeat of the granted submission gets the grant event; a new submission is rejected")
    func revokedGrant() throws {
        var view = LedgerView()
        let purchase = Sample.purchase()
        let first = Sample.decision(.each([Sample.judged(purchase)]))
        let event = try #require(first.settle(in: &view).grants.first?.event)
        view.grants[purchase.transactionID]?.isRevoked = true
        #expect(first.settle(in: &view).reissued == [event])
        let again = Sample.submission("submission-2")
        func reason(_ verdict: JudgedPurchase.Verdict) -> Reason? {
            var copy = view
            return Sample.decision(.each([Sample.judged(purchase, .consumable, verdict)]), submission: again)
                .settle(in: &copy).answer?.reason
        }
        #expect(reason(.grant(payload: nil)) == .cancelled && reason(.reject(.bindingMismatch)) == .bindingMismatch)
    }

    @Test("a restored copy of a refunded purchase is rejected as cancelled; a purchase after the refund is granted")
    func restored() {
        let copy = Sample.purchase("1001", original: "1000")
        #expect(reason(Sample.judged(copy, .nonConsumable), in: view()) == .cancelled)
        #expect(reason(Sample.judged(copy, .autoRenewableSubscription), in: view()) == nil)
        let earlier = view(at: Sample.purchaseTime.adding(milliseconds: -1))
        #expect(reason(Sample.judged(copy, .nonConsumable), in: earlier) == nil)
    }
}
