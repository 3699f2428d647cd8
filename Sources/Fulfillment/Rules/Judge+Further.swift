import NamesAndTimes

/// Judges by facts that a receipt lacks and the App Store Server API has.
extension Judge {
    /// The age in milliseconds from which a worker looks a purchase up: an hour. Apple takes longer than that to refund
    /// one.
    static let lookUpAgeMilliseconds: Int64 = 3_600_000
    /// The longest time in milliseconds between a receipt and a purchase that counts as if it were in the receipt: an
    /// hour, before or after. The client may have kept the receipt or the purchase for a while.
    static let earlyFinishMilliseconds: Int64 = 3_600_000

    /// Returns the question for the account's purchases of a product that the receipt lacks; nil if Apple cannot be
    /// asked. Then only the purchases in the receipt count.
    func question(about product: ProductID, missingIn receipt: GenuineReceipt) -> FurtherQuestion? {
        guard app.serverAPI != nil, case .receipt = submission.proof, let createdAt = receipt.createdAt,
            let newest = receipt.purchases.last
        else { return nil }
        return .purchases(
            FurtherQuestion.EarlyFinish(
                transaction: newest.transactionID, environment: receipt.environment, product: product,
                bought: Self.earlyFinish(of: createdAt)))
    }

    /// Returns the range of purchase times that count as if they were in a receipt of the time `createdAt`.
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

    /// Returns the transactions that a worker must look up at Apple before it decides. They are unreadable
    /// transactions, and consumables to be granted that are old enough to have been refunded.
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
    /// Returns whether any purchase of the receipt may be of this product. A purchase with an unreadable product may
    /// be.
    func names(_ product: ProductID) -> Bool {
        purchases.contains { $0.productID == product }
            || nameless.contains { $0.productID == product || $0.productID.text == NamelessPurchase.unreadable }
    }

    /// Returns the receipt with the looked-up transactions as Apple described them, and with `others`, which count as
    /// if they were in the receipt.
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
