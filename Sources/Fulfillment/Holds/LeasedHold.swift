import NamesAndTimes

/// A held transaction under a lease: no other replica takes it before the lease is over.
public struct LeasedHold: Sendable {
    /// The end of the lease, in PostgreSQL's microseconds: it tells this lease from a later one.
    public typealias Lease = Int64

    public let transactionID: StoreTransactionID
    public let originalTransactionID: StoreTransactionID
    public let productID: ProductID
    /// The reason that holds it now.
    public let reason: Reason
    /// The reasons that operators waived, now or earlier.
    public let waived: Set<Reason>
    /// An operator's release waits to be carried out.
    public let isReleased: Bool
    /// A try is due, whatever the catalog says: released, put back without a verdict, or the ledger knows more by now.
    public let isDue: Bool
    public let submission: Submission
    public let identity: NameBasedUUID
    /// The record's, by whose time expiry is judged. Its content is not known any more.
    public let position: RecordPosition
    public let traceparent: String?
    /// The evidence that the transaction was judged by when it was held: Apple's answer or a proven proof. Nil where it
    /// was not kept.
    public let evidence: GenuineReceipt?
    /// The number of transactions that its product's `daily_limit` counts for its player and day, when the lease began.
    /// Nil where it is not held for that limit.
    public let dailyCount: Int?
    /// The signals in the event of the hold.
    public let risk: [RiskSignal]
    /// Tries without a verdict since the last decision.
    public let tries: Int
    public let lease: Lease
    /// The time by which it is judged if its record has none that can be true.
    public let heldAt: Timestamp?
    /// Nil where it was submitted.
    public let announced: AnnouncedTerms?
    /// The database was restored to an earlier state since it was held: its grant may have been published.
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

    /// The prospect of a hold under another catalog before Apple is asked.
    public enum Outlook: Sendable, Equatable {
        /// Nothing in the catalog lets it go: it stays held, for this reason.
        case stays(Reason)
        /// Apple is to be asked again: its wait may end.
        case mayEnd
    }

    public func outlook(under catalog: Catalog, now: Timestamp) -> Outlook {
        guard !isDue else { return .mayEnd }
        // No catalog decides between two players.
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
