extension SimulatedStore {
    /// Renews a subscription. Makes the notification DID_RENEW, with BILLING_RECOVERY if Apple could not charge before.
    /// The next period begins at the end of the last period. After a gap without access, the next period begins now.
    @discardableResult
    public mutating func renew(_ id: String) throws(Fault) -> StoreTransaction {
        let earlier = try subscription(id)
        let last = try transaction(earlier.periods.last ?? id)
        let wasInTrouble = earlier.renewal.isInBillingRetry
        let hadAccess = !earlier.hasEnded && (!wasInTrouble || earlier.state(at: now) == .gracePeriod)
        var terms = last.terms
        terms.offer = nil
        let product = earlier.renewal.product
        var next = makeTransaction(
            product, number: nextNumber(), (earlier.account, terms),
            after: (transactions[earlier.originalID], hadAccess ? earlier.expiresAt : now))
        next.expiresAt = next.purchasedAt + (product.plan?.periodMilliseconds ?? 0)
        var renewed = earlier
        renewed.begin(next)
        subscriptions[renewed.originalID] = renewed
        keep(next)
        notify("DID_RENEW", wasInTrouble ? "BILLING_RECOVERY" : nil, of: next)
        return next
    }

    /// Turns automatic renewal on or off for the customer. Makes the notification DID_CHANGE_RENEWAL_STATUS.
    public mutating func setRenewal(of id: String, isOn: Bool) throws(Fault) {
        try change(id, "DID_CHANGE_RENEWAL_STATUS", isOn ? "AUTO_RENEW_ENABLED" : "AUTO_RENEW_DISABLED") {
            $0.renewal.isOn = isOn
            if $0.renewal.end == .customerCancelled || !isOn { $0.renewal.end = isOn ? nil : .customerCancelled }
        }
    }

    /// Fails to charge for a renewal. Makes the notification DID_FAIL_TO_RENEW, with GRACE_PERIOD if the plan has a
    /// grace period.
    public mutating func failToRenew(_ id: String) throws(Fault) {
        let grace = try subscription(id).product.plan?.graceMilliseconds ?? 0
        try change(id, "DID_FAIL_TO_RENEW", grace > 0 ? "GRACE_PERIOD" : nil) {
            $0.renewal.isInBillingRetry = true
            $0.renewal.end = .billingError
            $0.renewal.graceExpiresAt = grace > 0 ? $0.expiresAt + grace : nil
        }
    }

    /// Ends the grace period. The App Store still tries to charge. Makes the notification GRACE_PERIOD_EXPIRED.
    public mutating func endGrace(_ id: String) throws(Fault) {
        try change(id, "GRACE_PERIOD_EXPIRED", nil) { $0.renewal.graceExpiresAt = nil }
    }

    /// Ends a subscription. Makes the notification EXPIRED.
    public mutating func expire(_ id: String, _ end: StoreSubscription.End = .customerCancelled) throws(Fault) {
        try change(id, "EXPIRED", end.subtype) {
            $0.renewal.isOn = false
            $0.renewal.isInBillingRetry = false
            $0.renewal.graceExpiresAt = nil
            $0.renewal.end = end
            $0.hasEnded = true
        }
    }

    /// Upgrades to a more expensive plan at once. The rest of the paid period is lost. Makes the notification
    /// DID_CHANGE_RENEWAL_PREF with UPGRADE.
    @discardableResult
    public mutating func upgrade(_ id: String, to productID: String) throws(Fault) -> StoreTransaction {
        let earlier = try subscription(id)
        let product = try product(productID, of: earlier.account.bundleID)
        guard product.plan != nil else { throw .notASubscription(productID) }
        var last = try transaction(earlier.periods.last ?? id)
        last.upgradedAt = now
        keep(last)
        var terms = last.terms
        terms.offer = nil
        let bought = addPeriod(of: product, to: earlier, earlier.account, terms)
        notify("DID_CHANGE_RENEWAL_PREF", "UPGRADE", of: bought)
        return bought
    }

    /// Downgrades to a cheaper plan at the next renewal. Withdraws an earlier downgrade if `productID` is the present
    /// product. Makes the notification DID_CHANGE_RENEWAL_PREF, with DOWNGRADE for a downgrade.
    public mutating func downgrade(_ id: String, to productID: String) throws(Fault) {
        let earlier = try subscription(id)
        let product = try product(productID, of: earlier.account.bundleID)
        guard product.plan != nil else { throw .notASubscription(productID) }
        try change(id, "DID_CHANGE_RENEWAL_PREF", product.id == earlier.product.id ? nil : "DOWNGRADE") {
            $0.renewal.product = product
        }
    }

    /// Asks the customer to agree to a higher price, or stores the customer's consent. Makes the notification
    /// PRICE_INCREASE.
    public mutating func raisePrice(of id: String, isAgreed: Bool) throws(Fault) {
        try change(id, "PRICE_INCREASE", isAgreed ? "ACCEPTED" : "PENDING") {
            $0.renewal.priceIncreaseStatus = isAgreed ? 1 : 0
        }
    }

    /// Extends the newest period at the studio's expense. Makes the notification RENEWAL_EXTENDED.
    public mutating func extend(_ id: String, milliseconds: Int64) throws(Fault) {
        let earlier = try subscription(id)
        var last = try transaction(earlier.periods.last ?? id)
        last.expiresAt = (last.expiresAt ?? now) + milliseconds
        keep(last)
        let expiresAt = last.expiresAt ?? now
        try change(id, "RENEWAL_EXTENDED", nil) { $0.expiresAt = expiresAt }
    }

    /// Copies the newest period to another original transaction, as Apple does after a change to other plans or to
    /// Family Sharing. The copy has another transaction id, and the same order, purchase date and expiry date as the
    /// period. Apple reports the copy as the start of a subscription.
    /// - Parameter namesPrevious: true if the copy names the original transaction that it continues.
    @discardableResult
    public mutating func convert(_ id: String, namesPrevious: Bool) throws(Fault) -> StoreTransaction {
        var earlier = try subscription(id)
        let last = try transaction(earlier.periods.last ?? id)
        var terms = last.terms
        terms.previousOriginalTransactionID = namesPrevious ? last.originalID : nil
        let copy = makeCopy(of: last, number: nextNumber(), terms)
        var subscription = StoreSubscription(
            originalID: copy.originalID, account: earlier.account, startedAt: now, product: copy.product, expiresAt: 0,
            renewal: .init(product: copy.product))
        subscription.begin(copy)
        subscriptions[subscription.originalID] = subscription
        earlier.hasEnded = true
        earlier.renewal.isOn = false
        subscriptions[earlier.originalID] = earlier
        keep(copy)
        notify("SUBSCRIBED", "RESUBSCRIBE", of: copy)
        return copy
    }

    private mutating func change(
        _ id: String, _ type: String, _ subtype: String?, _ change: (inout StoreSubscription) -> Void
    ) throws(Fault) {
        var subscription = try subscription(id)
        change(&subscription)
        subscriptions[subscription.originalID] = subscription
        notify(type, subtype, of: try transaction(subscription.periods.last ?? id))
    }
}
