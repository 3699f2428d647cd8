import NamesAndTimes

/// The database of grants, holds and answers.
public protocol PurchaseLedger: Sendable {
    /// Returns the ledger's earlier answer to a record, or its knowledge of the record's proof, before a worker asks
    /// Apple. Many callers share one round trip. The call waits while the database is out of reach, and throws only
    /// `LedgerClosed`.
    func recollect(_ query: RecallQuery) async throws(LedgerClosed) -> Durable<Recollection>

    /// Settles a decision against the ledger and commits it with its events, in one SQL transaction that many decisions
    /// share. Returns after COMMIT. The call waits while the database is out of reach.
    ///
    /// Throws only `LedgerClosed`, also if the database fell back after the worker took the submission. The worker then
    /// gets the submission again.
    func settle(_ decision: PendingDecision) async throws(LedgerClosed) -> Durable<RecordedOutcome>

    /// Notes that the broker acknowledged the events. The next SQL transaction deletes their outbox rows.
    func published(_ eventIDs: [NameBasedUUID])

    /// Reads the state of the database in which decisions begin, so that the ledger notices a later fall back. Throws
    /// if the database is out of reach.
    func meetDatabase() async throws
    /// Sets the function that the ledger calls when the database has lost decisions. From then on the ledger decides
    /// nothing, until `lossesAreKnown` is called.
    func watchFallBacks(_ tell: @escaping @Sendable () -> Void)
    /// The number of fall backs so far. A decision is void if the database fell back after the worker took its
    /// submission.
    var fallBackCount: Int { get }
    /// Lets the ledger decide again. The call does nothing if the database fell back once more since.
    /// - Parameter count: the number of fall backs when the search for losses began.
    func lossesAreKnown(after count: Int)
}

extension PurchaseLedger {
    public func meetDatabase() async throws {}
    public func watchFallBacks(_ tell: @escaping @Sendable () -> Void) {}
    public var fallBackCount: Int { 0 }
    public func lossesAreKnown(after count: Int) {}
}

/// A value with the history of the database that wrote or found it. After a fail-over a session may still be on the old
/// primary, whose rows count only in its own history.
public struct Durable<Value: Sendable>: Sendable {
    public let value: Value
    /// The history; nil if the database cannot fall back, or if the value depends on no row.
    public let history: DatabaseHistory?

    public init(_ value: Value, in history: DatabaseHistory?) {
        self.value = value
        self.history = history
    }
}

/// The error of a ledger that is shutting down, or whose database fell back. The work is left undone, and the worker
/// gets its record again.
public struct LedgerClosed: Error, Sendable {
    public init() {}
}

/// A question to the ledger about a record and its proof. It is a class for the same reason as `Submission`.
public final class RecallQuery: Sendable {
    public let position: RecordPosition
    public let proof: Digest256
    /// False if the record's offset is above every offset that was ever decided, so that the record has no answer yet.
    public let mayBeRedelivered: Bool
    /// True for a parked submission under a lease: its own parked row is no earlier answer.
    public let isParked: Bool
    /// The evidence in a proven proof for which the ledger can answer in Apple's place; nil for other proofs. It has at
    /// least one purchase.
    public let evidence: GenuineReceipt?
    /// The submission's player if it has an account token; nil otherwise. A receipt names no tokens. So its purchases
    /// answer such a submission only if all are this player's, because no token could decide about them.
    public let claimant: PlayerID?

    public init(
        position: RecordPosition, proof: Digest256, mayBeRedelivered: Bool, isParked: Bool = false,
        evidence: GenuineReceipt? = nil, claimant: PlayerID? = nil
    ) {
        self.position = position
        self.proof = proof
        self.mayBeRedelivered = mayBeRedelivered
        self.isParked = isParked
        self.evidence = evidence
        self.claimant = claimant
    }
}

public enum Recollection: Sendable, Equatable {
    case nothing
    /// This record was answered before. These are its events, byte for byte.
    case answered([OutcomeEvent])
    /// The record's submission is parked in PostgreSQL. The worker has no more to do for the record.
    case parked
    /// The ledger has every purchase of this proof: the answer follows without Apple.
    indirect case provenBefore(GenuineReceipt)
}

/// A verdict with everything that is stored with it, on its way into the ledger. It is a class for the same reason as
/// `Submission`.
public final class PendingDecision: Sendable {
    public let submission: Submission
    public let position: RecordPosition
    public let proof: Digest256
    public let identity: NameBasedUUID
    public let verdict: Verdict
    public let environment: StoreEnvironment
    /// The evidence that the ledger remembers for the proof; nil if it must remember none.
    public let evidence: GenuineReceipt?
    public let decidedAt: Timestamp
    public let catalogVersion: Int64
    public let traceparent: String?
    /// The id of the parked row that this decision deletes; nil if the submission was not parked.
    public let parkedID: NameBasedUUID?
    /// The thresholds of risk signals; nil if the events carry none.
    public let risk: RiskThresholds?
    public let tokenUse: AccountTokenUse
    /// The facts about subscriptions in the evidence; none if the app does not follow renewals.
    public let subscriptions: ToldSubscriptions
    /// True if workers report the delivery of the submission's grants to Apple, new and earlier ones.
    public let finishesGrants: Bool
    /// The terms under which the ledger stores refused purchases as undelivered; nil if it stores none.
    public let undeliveredTerms: UndeliveredTerms?
    /// The trace, which is for people and decides nothing; nil if there is none.
    public let trace: DecisionTrace?
    /// The terms of an announced purchase that nobody submitted; nil for a submitted one.
    public let announced: AnnouncedTerms?
    /// True if a worker rejected the record without Apple, published the rejection, and Apple's later answer disagrees.
    public let isSecond: Bool
    /// True if the record was read again after the database fell back: a lost grant may have been published.
    public let isDecidedAgain: Bool
    /// The ledger's number of fall backs when the worker took the submission.
    public let fallBackCount: Int
    /// The refunds in Apple's answers of transactions that are not among the verdict's purchases.
    public let shown: [NotifiedTransaction]
    /// The cause of a verdict on the whole submission; nil if the reason says everything.
    public let cause: Cause?
    /// The repair of the proof's text; nil if the proof was sent intact.
    public let repair: Cause?

    /// - Parameter identity: the decision's identity; nil takes the identity of the submission with this proof.
    public init(
        submission: Submission, position: RecordPosition, proof: Digest256, identity: NameBasedUUID? = nil,
        verdict: Verdict, environment: StoreEnvironment, evidence: GenuineReceipt?, decidedAt: Timestamp,
        catalogVersion: Int64, traceparent: String?, parkedID: NameBasedUUID? = nil, risk: RiskThresholds? = nil,
        tokenUse: AccountTokenUse = .none, finishesGrants: Bool = false, subscriptions: ToldSubscriptions = .none,
        undeliveredTerms: UndeliveredTerms? = nil, trace: DecisionTrace? = nil, announced: AnnouncedTerms? = nil,
        isSecond: Bool = false, isDecidedAgain: Bool = false, fallBackCount: Int = 0,
        shown: [NotifiedTransaction] = [], cause: Cause? = nil, repair: Cause? = nil
    ) {
        self.submission = submission
        self.position = position
        self.proof = proof
        self.identity = identity ?? submission.identity(proof: proof)
        self.verdict = verdict
        self.environment = environment
        self.evidence = evidence
        self.decidedAt = decidedAt
        self.catalogVersion = catalogVersion
        self.traceparent = traceparent
        self.parkedID = parkedID
        self.risk = risk
        self.tokenUse = tokenUse
        self.subscriptions = subscriptions
        self.finishesGrants = finishesGrants
        self.undeliveredTerms = undeliveredTerms
        self.trace = trace
        self.announced = announced
        self.isSecond = isSecond
        self.isDecidedAgain = isDecidedAgain
        self.fallBackCount = fallBackCount
        self.shown = shown
        self.cause = cause
        self.repair = repair
    }

    public var source: PurchaseSource { announced?.source ?? .submission }

    /// Returns whether the worker publishes the event. A second decision publishes no rejection: a rejection's id is
    /// made from the record, and the first decision used that id.
    public func publishes(_ event: OutcomeEvent) -> Bool { !isSecond || event.kind != .rejected }
}

extension RecordPosition {
    /// The position of a second decision on the record. The ledger stores at most one row under it, beside the row of
    /// the first decision.
    public var ofSecondDecision: RecordPosition {
        RecordPosition(
            topic: topic, partition: partition, offset: offset, timestamp: timestamp,
            content: Digest256(hashing: Array("second decision".utf8) + content.bytes))
    }
}

public enum RecordedOutcome: Sendable, Equatable {
    /// The committed events in publishing order. The outbox has each event that is new.
    case events([OutcomeEvent])
    /// The database refuses the decision's data (SQLSTATE class 22 or 23). The submission is parked for an operator.
    case parked
}
