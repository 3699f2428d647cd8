import NamesAndTimes

/// Rules for grace periods: a period that is over counts as expired only after the subscription's grace period.
extension Judge {
    /// The length in milliseconds of Apple's longest grace period, with a margin. A period that ended longer ago has no
    /// grace left.
    static let longestGraceMilliseconds: Int64 = 30 * 86_400_000

    /// Returns the end of a known grace period after the purchase's period, or the period's own end, whichever is
    /// later. Returns nil for a purchase without an end.
    func accessEnd(
        of purchase: StorePurchase, in receipt: GenuineReceipt, besides further: FurtherAnswers
    ) -> Timestamp? {
        guard let end = purchase.expiresAt else { return nil }
        var graces = receipt.renewals.filter {
            $0.originalTransactionID == purchase.originalTransactionID
        }.compactMap(\.graceExpiresAt)
        // Only the last period has a grace period after it.
        if !isLast(purchase, in: receipt) { graces = [] }
        for fact in further.subscriptions[purchase.originalTransactionID] ?? [] {
            if let grace = fact.graceExpiresAt, fact.expiresAt.map({ $0 <= end }) ?? true { graces.append(grace) }
        }
        return max(end, graces.max() ?? end)
    }

    /// Returns the question whose answer the rules need before they reject a period as expired. Returns nil if the
    /// rules reject no period as expired, if the period ended too long ago for a grace period, or if the answer is
    /// known. Returns a question even if the app has no credentials, because the ledger may know a grace period from a
    /// notification.
    func question(
        aboutGraceIn judged: [JudgedPurchase], of receipt: GenuineReceipt, besides further: FurtherAnswers
    ) -> FurtherQuestion? {
        let open = judged.first { one in
            guard decides(one.purchase.transactionID), one.verdict == .reject(.subscriptionExpired),
                let end = one.purchase.expiresAt,
                app.kind(of: one.purchase) == .autoRenewableSubscription, isLast(one.purchase, in: receipt)
            else { return false }
            return time(of: one.purchase, in: receipt).milliseconds - end.milliseconds < Self.longestGraceMilliseconds
                && further.subscriptions[one.purchase.originalTransactionID] == nil
        }
        return open.map { .grace(of: $0.purchase, in: receipt.environment) }
    }

    private func isLast(_ purchase: StorePurchase, in receipt: GenuineReceipt) -> Bool {
        receipt.purchases.last { $0.originalTransactionID == purchase.originalTransactionID && !$0.isUpgraded }?
            .transactionID == purchase.transactionID
    }
}
