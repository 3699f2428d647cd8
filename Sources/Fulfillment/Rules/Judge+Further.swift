import NamesAndTimes

/// Judges by facts that a receipt lacks and the App Store Server API has.
extension Judge {
    /// The age in milliseconds from which a purchase is looked up: an hour. A refund takes Apple longer.
    static let lookUpAgeMilliseconds: Int64 = 3_600_000
    /// The longest time in milliseconds between the receipt and a purchase that counts as if it were in the receipt: an
    /// hour. The client may have kept the one or the other for a while.
    static let earlyFinishMilliseconds: Int64 = 3_600_000

    /// Returns nil if nothing can be asked. Then only the purchases in the receipt count.
    func question(about product: ProductID, missingIn receipt: GenuineReceipt) -> FurtherQuestion? {
        guard app.serverAPI != nil, case .receipt = submission.proof, let createdAt = receipt.createdAt,
            let newest = receipt.purchases.last
        else { return nil }
        return .purchases(
            FurtherQuestion.EarlyFinish(
                transaction: newest.transactionID, environment: receipt.environment, product: product,
                bought: Self.earlyFinish(of: createdAt)))
    }

    /// Returns the purchase times that count as if they were in a receipt of that time.
    private static func earlyFinish(of createdAt: Timestamp) -> ClosedRange<Timestamp> {
        let (before, after) = (-earlyFinishMilliseconds, earlyFinishMilliseconds)
        return createdAt.adding(milliseconds: before)...createdAt.adding(milliseconds: after)
    }

    /// Returns the account's purchases that count as if they were in the receipt. The bounds keep an old receipt from
    /// claiming earlier or later purchases of its account.
    func finishedEarly(
        _ product: ProductID, missingIn receipt: GenuineReceipt, among told: [NotifiedTransaction]
    ) -> [StorePurchase] {
        guard let createdAt = receipt.createdAt else { return [] }
        let bought = Self.earlyFinish(of: createdAt)
        return told.filter { one in
            let purchase = one.purchase
            return one.bundleID == submission.bundleID && one.environment == receipt.environment
                && purchase.productID == product && purchase.ownership == .purchased
                && bought.contains(purchase.purchasedAt)
                && app.cutover.map { purchase.purchasedAt >= $0 } ?? true
                && purchase.appAccountToken.map { $0 == submission.appAccountToken } ?? true
        }.map(\.purchase)
    }

    /// Returns the receipt's purchases that Apple must name before they are decided. They are those that cannot be
    /// read, and consumables to be granted that are old enough to have been refunded.
    func openLookUps(in judged: [JudgedPurchase], besides further: FurtherAnswers) -> [StoreTransactionID] {
        guard app.serverAPI != nil, case .receipt = submission.proof else { return [] }
        return judged.lazy.filter { one in
            switch one.verdict {
            case .hold(.unreadableTransaction): true
            case .grant:
                app.announcements.checksRefunds && one.kind == .consumable
                    && now.milliseconds - one.purchase.purchasedAt.milliseconds > Self.lookUpAgeMilliseconds
            case .hold, .reject: false
            }
        }.map(\.purchase.transactionID).filter { further.isOpen($0) }
    }
}

extension GenuineReceipt {
    /// Returns whether any of its purchases may be of this product.
    func names(_ product: ProductID) -> Bool {
        purchases.contains { $0.productID == product }
            || nameless.contains { $0.productID == product || $0.productID.text == NamelessPurchase.unreadable }
    }

    /// Completes the receipt with Apple's view of single transactions, and with purchases that count as if they were in
    /// it.
    func completed(by further: FurtherAnswers, adding others: [StorePurchase]) -> GenuineReceipt {
        guard !others.isEmpty || !further.lookedUp.isEmpty else { return self }
        var completed = GenuineReceipt(
            bundleID: bundleID, appAppleID: appAppleID, environment: environment,
            purchases: (purchases + others).map { further.lookedUp[$0.transactionID] ?? $0 },
            isExpiredSubscription: isExpiredSubscription, holdsAutoRenewable: holdsAutoRenewable, createdAt: createdAt)
        (completed.answeredAt, completed.renewals, completed.nameless) = (answeredAt, renewals, nameless)
        completed.listedLater = listedLater
        return completed
    }
}
