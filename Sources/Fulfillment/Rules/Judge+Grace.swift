import NamesAndTimes

/// A period that is over is not expired while its subscription is in its grace period.
extension Judge {
    /// The length in milliseconds of Apple's longest grace period, with a margin. A period that ended longer ago has no
    /// grace left.
    static let longestGraceMilliseconds: Int64 = 30 * 86_400_000

    /// Returns the end of the access that a period gives: the period's own end, or the end of the known grace period
    /// behind it. Returns nil for a purchase without an end.
    func accessEnd(
        of purchase: StorePurchase, in receipt: GenuineReceipt, besides further: FurtherAnswers
    ) -> Timestamp? {
        guard let end = purchase.expiresAt else { return nil }
        var graces = receipt.renewals.filter {
            $0.originalTransactionID == purchase.originalTransactionID
        }.compactMap(\.graceExpiresAt)
        // Only the last period has a grace period behind it.
        if !isLast(purchase, in: receipt) { graces = [] }
        for fact in further.subscriptions[purchase.originalTransactionID] ?? [] {
            if let grace = fact.graceExpiresAt, fact.expiresAt.map({ $0 <= end }) ?? true { graces.append(grace) }
        }
        return max(end, graces.max() ?? end)
    }

    /// Returns the question to ask before a period is refused as over; nil if no period is about to be refused so, or if
    /// the answer is known. Without the App Store Server API, notifications may have told the ledger of a grace period.
    func question(
        aboutGraceIn judged: [JudgedPurchase], of receipt: GenuineReceipt, besides further: FurtherAnswers
    ) -> FurtherQuestion? {
        let open = judged.first { one in
            guard one.verdict == .reject(.subscriptionExpired), let end = one.purchase.expiresAt,
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
