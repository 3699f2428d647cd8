import NamesAndTimes

/// Who told of a purchase first.
public enum PurchaseSource: String, Sendable, CaseIterable {
    case submission
    /// A notification of Apple's.
    case notification
    /// Apple's notification history.
    case history
    /// The queue that asks about subscriptions.
    case renewal
}

/// A purchase that Apple told of by itself, whoever it belongs to.
public struct AnnouncedPurchase: Sendable, Equatable {
    /// One transaction, as Apple signed or answered it.
    public private(set) var evidence: GenuineReceipt
    public private(set) var purchase: StorePurchase
    public let source: PurchaseSource
    /// In place of a game server's `submission_id`: of the notification's UUID, or the transaction where there was none.
    public let submissionID: Identifier
    /// When Apple signed or answered it.
    public let toldAt: Timestamp
    /// A period of a subscription that had one before.
    public var isRenewal: Bool
    /// Of its subscription, where Apple told it.
    public var graceExpiresAt: Timestamp?
    /// The subscription that its own goes on from.
    public var previousOriginalTransactionID: StoreTransactionID?

    /// Nil unless the evidence is of one transaction.
    /// - Parameter name: the notification's UUID; the transaction where there was none.
    public init?(
        evidence: GenuineReceipt, source: PurchaseSource, name: Identifier, toldAt: Timestamp, isRenewal: Bool
    ) {
        self.init(
            evidence: evidence, source: source, submissionID: "apple-\(name.text)", toldAt: toldAt, isRenewal: isRenewal
        )
    }

    /// As it was kept.
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

    /// As it is since Apple has reversed its refund, which the evidence shows still.
    var withoutRevocation: AnnouncedPurchase {
        var purchase = self
        purchase.purchase.cancelledAt = nil
        purchase.purchase.refundedMilliPercent = nil
        purchase.purchase.revocationType = nil
        return purchase
    }

    /// As Apple tells it by name. Unchanged where the answer is of another transaction, app, environment or original.
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

    /// Nil where it names no account, or there is none.
    public var tokenKey: AccountTokenKey? {
        purchase.appAccountToken.map { AccountTokenKey(bundleID: evidence.bundleID, token: $0) }
    }
}
