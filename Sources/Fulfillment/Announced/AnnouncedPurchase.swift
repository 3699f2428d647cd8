import NamesAndTimes

/// The first source of a purchase.
public enum PurchaseSource: String, Sendable, CaseIterable {
    case submission
    /// One of Apple's notifications.
    case notification
    /// Apple's notification history.
    case history
    /// The queue that asks Apple about subscriptions.
    case renewal
}

/// A purchase that Apple reported by itself, with or without a known player.
public struct AnnouncedPurchase: Sendable, Equatable {
    /// One transaction, as Apple signed or answered it.
    public private(set) var evidence: GenuineReceipt
    public private(set) var purchase: StorePurchase
    public let source: PurchaseSource
    /// Stands for a game server's `submission_id`. It has the notification's UUID, or the transaction id if there was
    /// none.
    public let submissionID: Identifier
    /// The time at which Apple signed or answered it.
    public let toldAt: Timestamp
    /// True for a period of a subscription that had an earlier one.
    public var isRenewal: Bool
    /// The end of its subscription's grace period; nil if Apple named none.
    public var graceExpiresAt: Timestamp?
    /// The original transaction of the subscription that this one continues; nil if Apple named none.
    public var previousOriginalTransactionID: StoreTransactionID?

    /// Returns nil unless the evidence has exactly one transaction.
    /// - Parameter name: the notification's UUID, or the transaction id if there was none.
    public init?(
        evidence: GenuineReceipt, source: PurchaseSource, name: Identifier, toldAt: Timestamp, isRenewal: Bool
    ) {
        self.init(
            evidence: evidence, source: source, submissionID: "apple-\(name.text)", toldAt: toldAt, isRenewal: isRenewal
        )
    }

    /// Makes the purchase from its stored form.
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

    /// The purchase after Apple has reversed the refund that the evidence still shows.
    var withoutRevocation: AnnouncedPurchase {
        var purchase = self
        purchase.purchase.cancelledAt = nil
        purchase.purchase.refundedMilliPercent = nil
        purchase.purchase.revocationType = nil
        return purchase
    }

    /// Returns the purchase with the facts of Apple's answer about it. It is unchanged if the answer is about another
    /// transaction, app, environment or original.
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

    /// The key of the purchase's account token; nil if it has no token, or the nil UUID.
    public var tokenKey: AccountTokenKey? {
        purchase.appAccountToken.map { AccountTokenKey(bundleID: evidence.bundleID, token: $0) }
    }
}

extension GenuineReceipt {
    /// Returns the evidence of an announced purchase after another answer of Apple's showed its refund. Returns nil if
    /// the refund is no newer word: Apple had reversed a refund that it made before it announced the purchase as paid.
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
