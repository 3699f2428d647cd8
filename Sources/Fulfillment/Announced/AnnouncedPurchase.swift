import NamesAndTimes

/// The first source from which receiptd learnt of a purchase.
public enum PurchaseSource: String, Sendable, CaseIterable {
    case submission
    /// One of Apple's notifications.
    case notification
    /// Apple's notification history.
    case history
    /// Apple's answer to a check of the subscription.
    case renewal
}

/// A purchase that receiptd learnt of from Apple, not from a game server's submission. Its player may be unknown.
public struct AnnouncedPurchase: Sendable, Equatable {
    /// The evidence of one transaction, which Apple signed or gave in an answer.
    public private(set) var evidence: GenuineReceipt
    public private(set) var purchase: StorePurchase
    public let source: PurchaseSource
    /// The text that receiptd uses in place of a game server's `submission_id`: `apple-` and the notification's UUID,
    /// or `apple-` and the transaction id if there was no notification.
    public let submissionID: Identifier
    /// The time at which Apple signed the purchase, or the time of Apple's answer.
    public let toldAt: Timestamp
    /// True if the purchase pays for a later period of a subscription, not for the first.
    public var isRenewal: Bool
    /// The end of the subscription's grace period; nil if Apple named none.
    public var graceExpiresAt: Timestamp?
    /// The original transaction of the earlier subscription that the purchase's subscription continues; nil if Apple
    /// named none.
    public var previousOriginalTransactionID: StoreTransactionID?

    /// Makes the purchase; nil unless the evidence has exactly one transaction.
    /// - Parameter name: the notification's UUID, or the transaction id if there was no notification.
    public init?(
        evidence: GenuineReceipt, source: PurchaseSource, name: Identifier, toldAt: Timestamp, isRenewal: Bool
    ) {
        self.init(
            evidence: evidence, source: source, submissionID: "apple-\(name.text)", toldAt: toldAt, isRenewal: isRenewal
        )
    }

    /// Makes the purchase from its stored form; nil unless the evidence has exactly one transaction.
    public init?(
        evidence: GenuineReceipt, source: PurchaseSource, submissionID: String, toldAt: Timestamp, isRenewal: Bool
    ) {
        guard let purchase = evidence.purchases.first, evidence.purchases.count == 1 else { return nil }
        self.evidence = evidence
        self.purchase = purchase
        self.source = source
        self.submissionID = Identifier(submissionID)
        self.toldAt = toldAt
        self.isRenewal = isRenewal
    }

    /// A copy of the purchase without its refund, which Apple has reversed. The evidence in the copy still shows the
    /// refund.
    var withoutRevocation: AnnouncedPurchase {
        var purchase = self
        purchase.purchase.cancelledAt = nil
        purchase.purchase.refundedMilliPercent = nil
        purchase.purchase.revocationType = nil
        return purchase
    }

    /// Returns the purchase with the facts of Apple's answer. Returns it unchanged if the answer is about another
    /// transaction, app, environment or original transaction.
    func told(by answer: NotifiedTransaction) -> AnnouncedPurchase {
        let told = answer.purchase
        guard told.transactionID == purchase.transactionID, answer.bundleID == evidence.bundleID,
            answer.environment == evidence.environment,
            told.originalTransactionID == purchase.originalTransactionID
        else { return self }
        var changed = self
        changed.evidence.purchases = [told]
        changed.purchase = told
        changed.previousOriginalTransactionID =
            answer.previousOriginalTransactionID ?? previousOriginalTransactionID
        return changed
    }

    /// The key of the purchase's account token; nil if the purchase has no token, or if its token is the nil UUID.
    public var tokenKey: AccountTokenKey? {
        purchase.appAccountToken.map { AccountTokenKey(bundleID: evidence.bundleID, token: $0) }
    }
}

extension GenuineReceipt {
    /// Returns the evidence of an announced purchase, with the refund in `shown` added. Returns nil if `shown` is about
    /// another purchase or shows no refund. Returns nil for a refund from before the announcement too: Apple announced
    /// the purchase as paid, so Apple had already reversed that refund. Returns nil as well if the refund in `shown` is
    /// not newer than a refund in the evidence.
    /// - Parameter announcedAt: the time at which Apple signed the announcement.
    public func refunded(by shown: NotifiedTransaction, since announcedAt: Timestamp) -> GenuineReceipt? {
        guard var purchase = purchases.first, let refund = shown.purchase.refunded,
            shown.purchase.transactionID == purchase.transactionID,
            shown.purchase.originalTransactionID == purchase.originalTransactionID,
            shown.bundleID == bundleID, shown.environment == environment,
            refund.at > max(announcedAt, purchase.cancelledAt ?? announcedAt)
        else { return nil }
        purchase.cancelledAt = refund.at
        purchase.refundedMilliPercent = shown.refundedMilliPercent
        purchase.revocationType = shown.revocationType
        var evidence = self
        evidence.purchases = [purchase]
        return evidence
    }
}
