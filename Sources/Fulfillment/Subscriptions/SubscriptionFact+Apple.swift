import NamesAndTimes

extension SubscriptionFact {
    /// Makes the fact that a transaction and its renewal info give. Returns nil if the transaction is not a period of
    /// an auto-renewable subscription, or if the player gave the period up for another plan.
    /// - Parameters:
    ///   - renewal: the renewal info that Apple gave with the transaction; nil if Apple gave none.
    ///   - state: Apple's `status`; nil to find the state by the transaction's times and `toldAt`.
    ///   - toldAt: the time of Apple's signature or answer.
    public init?(
        _ transaction: NotifiedTransaction, renewal: RenewalInfo?, state: SubscriptionState?, toldAt: Timestamp
    ) {
        let purchase = transaction.purchase
        let kind = transaction.kind ?? purchase.type?.kind ?? (renewal == nil ? nil : .autoRenewableSubscription)
        guard kind == .autoRenewableSubscription, !purchase.isUpgraded else { return nil }
        self.init(
            purchase, of: transaction.bundleID, in: transaction.environment,
            renewal: renewal.flatMap { $0.originalTransactionID == purchase.originalTransactionID ? $0 : nil },
            state: state, toldAt: toldAt)
        subscriptionGroupID = transaction.subscriptionGroupID
        previousOriginalTransactionID = transaction.previousOriginalTransactionID
        isOfPeriodOnly = renewal == nil && state == nil && purchase.cancelledAt == nil
    }

    /// Makes the fact from one subscription in Apple's answer of the endpoint "Get All Subscription Statuses".
    public init?(_ status: SubscriptionStatus) {
        let signedAt = max(status.renewal.signedAt, status.transaction.signedAt ?? status.renewal.signedAt)
        self.init(status.transaction, renewal: status.renewal, state: status.state, toldAt: signedAt)
        subscriptionGroupID = subscriptionGroupID ?? status.subscriptionGroupID
    }

    /// Makes the fact from a notification.
    /// - Parameters:
    ///   - type: Apple's `notificationType`.
    ///   - status: Apple's `status` in the notification's `data`.
    public init?(
        notification type: String, subtype: String?, status: SubscriptionState?, transaction: NotifiedTransaction,
        renewal: RenewalInfo?, signedAt: Timestamp
    ) {
        let state = status ?? Self.state(type: type, subtype: subtype)
        self.init(transaction, renewal: renewal, state: state, toldAt: signedAt)
        // A notification describes the whole subscription at its signing time.
        isOfPeriodOnly = false
    }

    /// Returns the state that the notification's type implies; nil if the type implies none.
    private static func state(type: String, subtype: String?) -> SubscriptionState? {
        switch (type, subtype) {
        case ("EXPIRED", _): .expired
        case ("DID_FAIL_TO_RENEW", "GRACE_PERIOD"): .gracePeriod
        case ("DID_FAIL_TO_RENEW", _), ("GRACE_PERIOD_EXPIRED", _): .billingRetry
        case ("REVOKE", _): .revoked
        default: nil
        }
    }

    init(
        _ purchase: StorePurchase, of bundleID: BundleID, in environment: StoreEnvironment, renewal: RenewalInfo?,
        state: SubscriptionState?, toldAt: Timestamp
    ) {
        self.init(
            originalTransactionID: purchase.originalTransactionID, bundleID: bundleID, environment: environment,
            productID: purchase.productID,
            state: state ?? Self.state(of: purchase, renewal, at: toldAt), toldAt: toldAt)
        expiresAt = purchase.expiresAt
        periodBeganAt = purchase.purchasedAt
        graceExpiresAt = renewal?.graceExpiresAt
        willRenew = renewal?.willRenew
        renewalProductID = renewal?.renewalProductID
    }

    /// Returns the state at `toldAt`, by the times of the purchase and the renewal info.
    private static func state(
        of purchase: StorePurchase, _ renewal: RenewalInfo?, at toldAt: Timestamp
    ) -> SubscriptionState {
        if purchase.cancelledAt != nil, !purchase.isUpgraded { return .revoked }
        if let end = purchase.expiresAt, end > toldAt { return .active }
        if let grace = renewal?.graceExpiresAt, grace > toldAt { return .gracePeriod }
        return renewal?.isInBillingRetry == true ? .billingRetry : .expired
    }
}
