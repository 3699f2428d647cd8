import NamesAndTimes

/// Rules that need facts from the App Store Server API, because a receipt lacks the facts.
extension Judge {
    /// An age in milliseconds: one hour. A worker looks up an older consumable at Apple before the grant. Apple takes
    /// longer than an hour to refund a purchase.
    static let lookUpAgeMilliseconds: Int64 = 3_600_000
    /// A time in milliseconds: one hour. If the player bought a purchase at most this long before or after the
    /// receipt's creation, the purchase counts as if the receipt listed it.
    static let earlyFinishMilliseconds: Int64 = 3_600_000

    /// Returns the question about the account's purchases of `product`, which the receipt lacks. Returns nil if the app
    /// has no credentials, or if the proof is not a receipt with a creation time and a purchase.
    func question(about product: ProductID, missingIn receipt: GenuineReceipt) -> FurtherQuestion? {
        guard app.serverAPI != nil, case .receipt = submission.proof, let createdAt = receipt.createdAt,
            let newest = receipt.purchases.last
        else { return nil }
        return .purchases(
            FurtherQuestion.EarlyFinish(
                transaction: newest.transactionID, environment: receipt.environment, product: product,
                bought: Self.earlyFinish(of: createdAt)))
    }

    /// Returns whether the receipt lists the held purchase. If so, the submitted product does not matter.
    func listsHeld(_ receipt: GenuineReceipt) -> Bool {
        held.map { held in receipt.purchases.contains { $0.transactionID == held } } ?? false
    }

    /// Returns the range of purchase times in which a purchase counts as if a receipt created at `createdAt` listed it.
    private static func earlyFinish(of createdAt: Timestamp) -> ClosedRange<Timestamp> {
        let (before, after) = (-earlyFinishMilliseconds, earlyFinishMilliseconds)
        return createdAt.adding(milliseconds: before)...createdAt.adding(milliseconds: after)
    }

    /// Returns the account's purchases that count as if they were in the receipt. The time limits keep an old receipt
    /// from claiming much earlier or later purchases of its account. Leaves out purchases from before the cutover,
    /// except the held purchase. The rule `.beforeCutover` checks that purchase, and an operator may waive the rule.
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
                && (purchase.transactionID == held || app.cutover.map { purchase.purchasedAt >= $0 } ?? true)
                && purchase.appAccountToken.map { $0 == submission.appAccountToken } ?? true
        }.map(\.purchase)
    }

    /// Returns the transactions that a worker must look up at Apple before it decides. These are the unreadable
    /// transactions. If the catalog says to check refunds, each consumable that the rules grant is among them too, once
    /// it is old enough for a refund. For a hold, only the held transaction counts.
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
        }.map(\.purchase.transactionID).filter { decides($0) && further.isOpen($0) }
    }
}

extension GenuineReceipt {
    /// Returns whether the receipt may have a purchase of this product. A purchase with an unreadable product id counts
    /// as a purchase of this product.
    func names(_ product: ProductID) -> Bool {
        purchases.contains { $0.productID == product }
            || nameless.contains { $0.productID == product || $0.productID.text == NamelessPurchase.unreadable }
    }

    /// Returns the receipt with `others` added to its purchases, and with Apple's facts for each looked-up transaction.
    func completed(by further: FurtherAnswers, adding others: [StorePurchase]) -> GenuineReceipt {
        guard !others.isEmpty || !further.lookedUp.isEmpty else { return self }
        var completed = GenuineReceipt(
            bundleID: bundleID, appAppleID: appAppleID, environment: environment,
            purchases: (purchases + others).map { $0.replaced(by: further.lookedUp[$0.transactionID]) },
            isExpiredSubscription: isExpiredSubscription, holdsAutoRenewable: holdsAutoRenewable, createdAt: createdAt)
        (completed.answeredAt, completed.renewals, completed.nameless) = (answeredAt, renewals, nameless)
        completed.listedLater = listedLater
        return completed
    }
}

extension StorePurchase {
    /// Returns the purchase as the look-up describes it; the purchase itself if there was no look-up. The look-up may
    /// be a day old. So if only the purchase itself shows a refund of the whole, returns the purchase itself. Keeps
    /// `originalPurchasedAt` if the look-up gives none.
    fileprivate func replaced(by lookedUp: StorePurchase?) -> StorePurchase {
        guard var told = lookedUp, !isWhollyRefunded || told.cancelledAt != nil else { return self }
        told.originalPurchasedAt = told.originalPurchasedAt ?? originalPurchasedAt
        return told
    }
}
