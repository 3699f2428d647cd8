import NamesAndTimes

/// A held transaction under a lease. No other replica takes the hold before the lease is over.
public struct LeasedHold: Sendable {
    /// The end of the lease, in PostgreSQL's microseconds. Each later lease of the hold has a different end.
    public typealias Lease = Int64

    public let transactionID: StoreTransactionID
    public let originalTransactionID: StoreTransactionID
    public let productID: ProductID
    /// The present reason of the hold.
    public let reason: Reason
    /// The reasons that operators have waived so far, in all their releases of this hold.
    public let waived: Set<Reason>
    /// True if an operator released the hold, and no worker has decided about the hold since.
    public let isReleased: Bool
    /// True if a try is due even under an unchanged catalog: an operator released the hold, the last try had no
    /// verdict, or the ledger has new facts.
    public let isDue: Bool
    public let submission: Submission
    public let identity: NameBasedUUID
    /// The position of the submission's record. The rules compare the record's time with a period's end. The position
    /// lacks the digest of the record's content, which the row does not store.
    public let position: RecordPosition
    public let traceparent: String?
    /// The evidence for the decision that held the transaction: Apple's answer or a proven proof; nil if PostgreSQL
    /// does not have it.
    public let evidence: GenuineReceipt?
    /// The number of the player's grants that count for the product's `daily_limit` on the UTC day of this purchase,
    /// counted when the lease began; nil unless the hold's reason is `daily_limit`.
    public let dailyCount: Int?
    /// The risk signals in the hold's event.
    public let risk: [RiskSignal]
    /// The number of tries without a verdict since the last decision.
    public let tries: Int
    public let lease: Lease
    /// The time at which the hold began. If the record has no credible time, the rules use this time instead.
    public let heldAt: Timestamp?
    /// The terms of an announced purchase that nobody submitted; nil for a submitted purchase.
    public let announced: AnnouncedTerms?
    /// True if the database fell back to an earlier state after the hold began. Then a worker may have published a
    /// grant that the database lost.
    public let isDecidedAgain: Bool

    public init(
        transactionID: StoreTransactionID, originalTransactionID: StoreTransactionID, productID: ProductID,
        reason: Reason, waived: Set<Reason>, isReleased: Bool, isDue: Bool, submission: Submission,
        identity: NameBasedUUID,
        position: RecordPosition, traceparent: String?, evidence: GenuineReceipt?, dailyCount: Int?, tries: Int,
        lease: Lease, risk: [RiskSignal] = [], heldAt: Timestamp? = nil, announced: AnnouncedTerms? = nil,
        isDecidedAgain: Bool = false
    ) {
        self.transactionID = transactionID
        self.originalTransactionID = originalTransactionID
        self.productID = productID
        self.reason = reason
        self.waived = waived
        self.isReleased = isReleased
        self.isDue = isDue
        self.submission = submission
        self.identity = identity
        self.position = position
        self.traceparent = traceparent
        self.evidence = evidence
        self.dailyCount = dailyCount
        self.tries = tries
        self.lease = lease
        self.risk = risk
        self.heldAt = heldAt
        self.announced = announced
        self.isDecidedAgain = isDecidedAgain
    }

    /// The effect of a new catalog on a hold, as far as the worker can tell without asking Apple.
    public enum Outlook: Sendable, Equatable {
        /// The catalog does not end the hold. The hold stays for this reason.
        case stays(Reason)
        /// The hold may end, so the worker asks Apple again.
        case mayEnd
    }

    public func outlook(under catalog: Catalog, now: Timestamp) -> Outlook {
        guard !isDue else { return .mayEnd }
        // No catalog decides between the two players of a dispute.
        guard let terms = catalog.terms[submission.bundleID], reason != .ownershipDisputed else {
            return .stays(reason)
        }
        guard let evidence, let purchase = evidence.purchases.first(where: { $0.transactionID == transactionID })
        else { return .mayEnd }
        let judge = Judge(
            submission: submission, under: terms, recordTimestamp: position.timestamp, takenAt: heldAt, now: now,
            signature: .notProvable, waived: waived, announced: announced)
        guard judge.reasonAgainst(evidence) == nil else { return .mayEnd }
        let judged = judge.judged(purchase, in: evidence)
        switch judged.verdict {
        case .hold(let reason): return .stays(reason)
        case .reject: return .mayEnd
        case .grant:
            if let dailyCount, let limit = judged.dailyLimit, dailyCount >= limit { return .stays(.dailyLimit) }
            return .mayEnd
        }
    }
}
