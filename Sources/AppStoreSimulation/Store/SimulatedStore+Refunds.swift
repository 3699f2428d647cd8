extension SimulatedStore {
    static let wholePercent = 100_000

    /// Asks for a refund as a customer does. Makes the notification CONSUMPTION_REQUEST.
    /// - Parameter reason: `UNINTENDED_PURCHASE`, `FULFILLMENT_ISSUE`, `UNSATISFIED_WITH_PURCHASE`, `LEGAL`, `OTHER`.
    public mutating func requestRefund(of id: String, reason: String = "UNINTENDED_PURCHASE") throws(Fault) {
        notify("CONSUMPTION_REQUEST", of: try transaction(id)) { $0.consumptionRequestReason = reason }
    }

    /// Refunds a purchase, whole or in part. Makes the notification REFUND. A second refund must have a larger share,
    /// because the share is the total of both refunds.
    /// - Parameters:
    ///   - milliPercent: the share of the whole quantity, in thousandths of a percent; nil for all of it.
    ///   - subtype: `SEATS` if the customer returned only seats of a group, and so lost nothing; nil otherwise.
    public mutating func refund(_ id: String, milliPercent: Int? = nil, subtype: String? = nil) throws(Fault) {
        var refunded = try transaction(id)
        let share = milliPercent ?? Self.wholePercent
        if let known = refunded.revocation, known.milliPercent ?? Self.wholePercent >= share {
            throw .alreadyRefunded(id)
        }
        if let known = refunded.revocation { refunded.earlierRevocations.append(known) }
        refunded.revocation = .init(
            at: now, type: share < Self.wholePercent ? "REFUND_PRORATED" : "REFUND_FULL", milliPercent: share)
        takeBack(refunded, isRevoked: true)
        notify("REFUND", subtype, of: refunded)
    }

    /// Reverses the last refund after a dispute. An earlier, smaller refund stays. Makes the notification
    /// REFUND_REVERSED.
    public mutating func reverseRefund(of id: String) throws(Fault) {
        var kept = try transaction(id)
        guard kept.revocation != nil else { throw .notRefunded(id) }
        kept.revocation = kept.earlierRevocations.popLast()
        takeBack(kept, isRevoked: kept.revocation != nil)
        notify("REFUND_REVERSED", of: kept)
    }

    /// Refuses the customer's request for a refund. Makes the notification REFUND_DECLINED.
    public mutating func declineRefund(of id: String) throws(Fault) {
        notify("REFUND_DECLINED", of: try transaction(id))
    }

    /// Ends family sharing for a family member. Makes the notification REVOKE. Throws if the customer bought the
    /// purchase.
    public mutating func revoke(_ id: String) throws(Fault) {
        var revoked = try transaction(id)
        guard !revoked.isPurchased else { throw .notFamilyShared(id) }
        revoked.revocation = .init(at: now, type: "FAMILY_REVOKE", milliPercent: nil)
        takeBack(revoked, isRevoked: true)
        notify("REVOKE", of: revoked)
    }

    private mutating func takeBack(_ transaction: StoreTransaction, isRevoked: Bool) {
        keep(transaction)
        if transaction.product.plan != nil {
            // The copies of this period that `convert` made get the refund too.
            for var copy in transactions.values
            where copy.number == transaction.number && copy.id != transaction.id && copy.product.plan != nil {
                copy.revocation = transaction.revocation
                copy.earlierRevocations = transaction.earlierRevocations
                keep(copy)
            }
        }
        guard var subscription = subscriptions[transaction.originalID], subscription.periods.last == transaction.id
        else {
            return
        }
        subscription.isRevoked = isRevoked
        if isRevoked { subscription.renewal.isOn = false }
        subscriptions[subscription.originalID] = subscription
    }
}
