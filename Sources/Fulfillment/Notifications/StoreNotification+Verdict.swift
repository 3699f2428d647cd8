/// The kind of a notification, from its type and subtype. The kind decides every effect except the effect on a
/// subscription's state. `RefundNotice` describes the steps after a refund.
/// Source: `notificationType`, App Store Server Notifications 2.
private enum NotificationKind {
    /// The notification announces a paid purchase.
    case purchase
    case refund(Reason)
    /// The notification reports a refund of a subscription's seats, which are not goods.
    case seats
    case reversal
    case refundRequest
    /// A notification of any other type. If it has renewal info, it gives a subscription's state.
    case other

    init(_ notification: StoreNotification) {
        self =
            switch (notification.type, notification.subtype) {
            case ("ONE_TIME_CHARGE", _), ("SUBSCRIBED", _), ("OFFER_REDEEMED", _), ("DID_RENEW", _),
                ("DID_CHANGE_RENEWAL_PREF", "UPGRADE"):
                .purchase
            case ("REFUND", "SEATS"): .seats
            case ("REFUND", _): .refund(.refund)
            case ("REVOKE", _): .refund(.revoke)
            case ("REFUND_REVERSED", _): .reversal
            case ("CONSUMPTION_REQUEST", _): .refundRequest
            default: .other
            }
    }

    var needsTransaction: Bool {
        switch self {
        case .purchase, .refund, .reversal, .refundRequest: true
        case .seats, .other: false
        }
    }

    /// True if no effect depends on renewal info. A refund counts even if receiptd cannot read the renewal info.
    var isOfTransactionOnly: Bool {
        switch self {
        case .refund, .seats, .reversal, .refundRequest: true
        case .purchase, .other: false
        }
    }

    /// True if the notification's transaction may be an older period of the subscription, not only the newest.
    var isOfAnyPeriod: Bool {
        switch self {
        case .refund, .seats, .reversal, .refundRequest: true
        case .purchase, .other: false
        }
    }
}

extension StoreNotification {
    /// Returns the effects of the notification, or a dead letter.
    /// - Parameters:
    ///   - catalog: the catalog, which gives Apple's number of the app and says whether the app has credentials. A
    ///     notification of an app that the catalog lacks gets a verdict too, because players may submit its transaction
    ///     once the catalog has the app.
    ///   - source: the way by which receiptd got the notification.
    public func verdict(under catalog: Catalog, from source: PurchaseSource) -> NotificationVerdict {
        let kind = NotificationKind(self)
        var notice = StoreNotice(self)
        guard kind.needsTransaction || renewal != .none else { return .taken(notice) }
        let told: NotifiedTransaction?
        let renewal: RenewalInfo?
        do {
            told = try content(of: transaction, called: "transaction")
            renewal = try content(of: self.renewal, called: "renewal info", isNeeded: !kind.isOfTransactionOnly)
        } catch {
            return .deadLetter(DeadLetter(reason: .malformedMessage, detail: error.detail))
        }
        if let fault = fault(in: told, renewal, under: catalog) {
            return .deadLetter(DeadLetter(reason: .malformedMessage, detail: fault))
        }
        guard let told else {
            if kind.needsTransaction {
                return .deadLetter(
                    DeadLetter(reason: .malformedMessage, detail: "the notification has no transaction"))
            }
            return .taken(notice)
        }
        notice.isAbout(told)
        notice.fact = fact(kind, told, renewal)
        if case .refund(.refund) = kind, told.purchase.isUnreadable(StorePurchase.refundedPart) {
            return .needsPart(UnreadRefund(notice: notice, reason: .refund, transaction: told))
        }
        notice.refund = refund(kind, told)
        switch kind {
        case .purchase: notice.purchase = purchase(told, renewal, from: source)
        case .refundRequest: notice.request = request(told)
        case .other where isOnlyWord(of: told, under: catalog): notice.purchase = purchase(told, renewal, from: source)
        case .refund, .seats, .reversal, .other: break
        }
        return .taken(notice)
    }

    private struct Unusable: Error {
        let detail: String
    }

    /// - Parameter isNeeded: false to treat an unreadable signed part as absent.
    private func content<Value>(
        of part: SignedPart<Value>, called name: String, isNeeded: Bool = true
    ) throws(Unusable) -> Value? {
        switch part {
        case .none: return nil
        case .told(let value): return value
        case .unreadable(let why):
            if isNeeded { throw Unusable(detail: "its \(name): \(why)") }
            return nil
        case .unusable(let why), .notProvable(let why): throw Unusable(detail: "its \(name): \(why)")
        }
    }

    /// Returns a sentence if the notification's payload, transaction or renewal info differ in app, environment or
    /// subscription, or if Apple's number of the app differs from the catalog's. Returns nil if all agree.
    private func fault(
        in told: NotifiedTransaction?, _ renewal: RenewalInfo?, under catalog: Catalog
    ) -> String? {
        if let told, told.bundleID != bundleID || told.environment != environment {
            return "the transaction is of another app or environment than the notification"
        }
        if let renewal {
            if renewal.environment == nil || renewal.environment != environment {
                return "the renewal info is of another environment than the notification"
            }
            if let told, told.purchase.originalTransactionID != renewal.originalTransactionID {
                return "the renewal info is of another subscription than the transaction"
            }
        }
        // Every notification of Production has Apple's number of the app. No notification of the sandbox has it.
        if environment == .production, let ours = bundleID.flatMap({ catalog.apps[$0]?.appAppleID }), appAppleID != ours
        {
            return appAppleID == nil ? "it has no appAppleId" : "its appAppleId belongs to another app"
        }
        return nil
    }
}

// MARK: - The notice's parts

extension StoreNotification {
    private func refund(_ kind: NotificationKind, _ told: NotifiedTransaction) -> RefundNotice? {
        switch kind {
        case .refund(let reason):
            RefundNotice(
                id: id, change: .revoked(reason, at: told.purchase.cancelledAt ?? signedAt), signedAt: signedAt,
                transaction: told)
        case .reversal: RefundNotice(id: id, change: .reversed, signedAt: signedAt, transaction: told)
        case .seats: nil
        // The transaction of a purchase, a refund request or another notification may show a refund too.
        case .purchase, .refundRequest, .other: RefundNotice(shownBy: told)
        }
    }

    private func purchase(
        _ told: NotifiedTransaction, _ renewal: RenewalInfo?, from source: PurchaseSource
    ) -> AnnouncedPurchase? {
        // If Apple signed no type, the renewal info shows that the product renews.
        let isRenewable = told.kind == .autoRenewableSubscription || (told.kind == nil && renewal != nil)
        var announced = AnnouncedPurchase(
            evidence: GenuineReceipt(
                bundleID: told.bundleID, appAppleID: appAppleID, environment: told.environment,
                purchases: [told.purchase], holdsAutoRenewable: isRenewable),
            source: source, name: id, toldAt: signedAt,
            isRenewal: isRenewable && told.purchase.transactionID != told.purchase.originalTransactionID)
        announced?.graceExpiresAt = renewal?.graceExpiresAt
        announced?.previousOriginalTransactionID = told.previousOriginalTransactionID
        return announced
    }

    /// Returns whether the notification's transaction is a running renewal that receiptd may learn of in no other way.
    /// The renewal's own notification may be lost, and the app has no credentials for a request to Apple.
    private func isOnlyWord(of told: NotifiedTransaction, under catalog: Catalog) -> Bool {
        guard let app = catalog.apps[told.bundleID], app.serverAPI == nil, app.followsRenewals else { return false }
        let purchase = told.purchase
        return told.kind == .autoRenewableSubscription && purchase.transactionID != purchase.originalTransactionID
            && purchase.cancelledAt == nil && purchase.expiresAt.map { $0 > signedAt } ?? false
    }

    private func request(_ told: NotifiedTransaction) -> RefundRequest {
        RefundRequest(
            id: id, transactionID: told.purchase.transactionID,
            originalTransactionID: told.purchase.originalTransactionID, bundleID: told.bundleID,
            environment: told.environment, productID: told.purchase.productID, kind: told.kind,
            period: told.period, reason: consumptionRequestReason, signedAt: signedAt)
    }

    private func fact(
        _ kind: NotificationKind, _ told: NotifiedTransaction, _ renewal: RenewalInfo?
    ) -> SubscriptionFact? {
        // A period with an unreadable fact gives no fact about the subscription. The worker asks Apple at the
        // subscription's next check.
        guard told.purchase.unreadable.allSatisfy({ $0 == StorePurchase.refundedPart }) else { return nil }
        // A refund of seats does not change the subscription.
        if case .seats = kind, state == nil { return nil }
        func fact(_ status: SubscriptionState?) -> SubscriptionFact? {
            SubscriptionFact(
                notification: type, subtype: subtype, status: status, transaction: told, renewal: renewal,
                signedAt: signedAt)
        }
        let isRunning = told.purchase.expiresAt.map { $0 > signedAt } ?? false
        guard kind.isOfAnyPeriod, !isRunning else { return fact(state) }
        // This period is over, and Apple's status is the status of the whole subscription. If the status is active, a
        // later period runs, and the reversal of this period's refund changes nothing. Otherwise this period's own
        // times give the state after the reversal.
        if case .reversal = kind { return state == .active ? nil : fact(nil) }
        return fact(state).flatMap { $0.state == .revoked ? $0 : nil }
    }
}
