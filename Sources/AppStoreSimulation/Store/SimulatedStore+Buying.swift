extension SimulatedStore {
    private static let firstProductionID: Int64 = 350_000_000_000_000
    private static let firstSandboxID: Int64 = 2_000_000_000_000_000

    /// Sells a product to a customer. Makes the notification ONE_TIME_CHARGE or SUBSCRIBED, or OFFER_REDEEMED for an
    /// offer code.
    @discardableResult
    public mutating func buy(
        _ productID: String, by account: SimulatedAccount, _ terms: SimulatedTerms = SimulatedTerms()
    ) throws(Fault) -> StoreTransaction {
        let product = try product(productID, of: account.bundleID)
        guard let plan = product.plan else {
            let bought = makeTransaction(product, by: account, terms)
            keep(bought)
            notify("ONE_TIME_CHARGE", of: bought)
            return bought
        }
        let earlier = subscriptions(of: account).last { $0.product.plan?.groupID == plan.groupID }
        if let earlier, [.active, .gracePeriod].contains(earlier.state(at: now)) {
            throw .alreadySubscribed(earlier.originalID)
        }
        let bought = addPeriod(of: product, to: earlier, account, terms)
        let type = terms.offer?.type == SimulatedOffer.code ? "OFFER_REDEEMED" : "SUBSCRIBED"
        notify(type, earlier == nil ? "INITIAL_BUY" : "RESUBSCRIBE", of: bought)
        return bought
    }

    /// Restores a non-consumable under a new id. Apple sends no notification about a restore.
    @discardableResult
    public mutating func restore(_ id: String) throws(Fault) -> StoreTransaction {
        let known = try transaction(id)
        guard known.product.kind == .nonConsumable else { throw .notRestorable(id) }
        let restored = makeTransaction(known.product, by: known.account, known.terms, original: known)
        keep(restored)
        return restored
    }

    /// Finishes a purchase, as the client or the server does. A finished consumable is no longer in the receipt.
    public mutating func finish(_ id: String) throws(Fault) {
        var finished = try transaction(id)
        guard !finished.isFinished else { return }
        finished.isFinished = true
        // This does not call `keep`, because Get Transaction History does not show that a transaction was finished.
        transactions[id] = finished
    }

    /// Adds a period: the first period of a subscription, the next period, or the first period after a gap.
    mutating func addPeriod(
        of product: SimulatedProduct, to earlier: StoreSubscription?, _ account: SimulatedAccount,
        _ terms: SimulatedTerms
    ) -> StoreTransaction {
        let original = earlier.flatMap { transactions[$0.originalID] }
        var bought = makeTransaction(product, by: account, terms, original: original)
        bought.expiresAt = bought.purchasedAt + (product.plan?.periodMilliseconds ?? 0)
        var subscription =
            earlier
            ?? StoreSubscription(
                originalID: bought.originalID, account: account, startedAt: now, product: product, expiresAt: 0,
                renewal: .init(product: product))
        subscription.begin(bought)
        subscriptions[subscription.originalID] = subscription
        keep(bought)
        return bought
    }

    /// - Parameters:
    ///   - original: the original transaction; nil if the purchase is its own original.
    ///   - renewedAt: the start of the new period if the App Store renews the subscription; nil if the customer buys.
    ///     The start is the end of the previous period, or now after a gap without access.
    func makeTransaction(
        _ product: SimulatedProduct, number: Int64, _ buyer: (account: SimulatedAccount, terms: SimulatedTerms),
        after: (original: StoreTransaction?, renewedAt: Int64?)
    ) -> StoreTransaction {
        let first = buyer.account.environment == .sandbox ? Self.firstSandboxID : Self.firstProductionID
        let id = String(first + number)
        let purchasedAt = after.renewedAt ?? now
        return StoreTransaction(
            id: id, originalID: after.original?.originalID ?? id, account: buyer.account, product: product,
            terms: buyer.terms, purchasedAt: purchasedAt,
            originallyPurchasedAt: after.original?.originallyPurchasedAt ?? purchasedAt, expiresAt: nil,
            isRenewal: after.renewedAt != nil, number: number)
    }

    /// Makes a copy of an earlier period. The copy has an id of its own, and is its own original transaction.
    func makeCopy(of bought: StoreTransaction, number: Int64, _ terms: SimulatedTerms) -> StoreTransaction {
        let first = bought.account.environment == .sandbox ? Self.firstSandboxID : Self.firstProductionID
        let id = String(first + number)
        return StoreTransaction(
            id: id, originalID: id, account: bought.account, product: bought.product, terms: terms,
            purchasedAt: bought.purchasedAt, originallyPurchasedAt: bought.purchasedAt, expiresAt: bought.expiresAt,
            isRenewal: false, number: bought.number)
    }

    private mutating func makeTransaction(
        _ product: SimulatedProduct, by account: SimulatedAccount, _ terms: SimulatedTerms,
        original: StoreTransaction? = nil
    ) -> StoreTransaction {
        makeTransaction(product, number: nextNumber(), (account, terms), after: (original, nil))
    }
}

extension StoreSubscription {
    /// Begins a paid period, and replaces the subscription's earlier state.
    mutating func begin(_ period: StoreTransaction) {
        periods.append(period.id)
        product = period.product
        expiresAt = period.expiresAt ?? expiresAt
        renewal = Renewal(product: period.product)
        isRevoked = false
        hasEnded = false
    }
}
