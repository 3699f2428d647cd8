import NamesAndTimes

/// The database of grants, holds and answers.
public protocol PurchaseLedger: Sendable {
    /// Returns the stored events of a record, or the evidence that the ledger has for the record's proof. A worker
    /// calls this before it asks Apple. Many callers share one round trip. The call waits while the database is out of
    /// reach, and throws only `LedgerClosed`.
    func recollect(_ query: RecallQuery) async throws(LedgerClosed) -> Durable<Recollection>

    /// Settles a decision against the ledger and commits it with its events, in one SQL transaction that many decisions
    /// share. Returns after COMMIT. The call waits while the database is out of reach.
    ///
    /// Throws only `LedgerClosed`: while the ledger shuts down, or if the database fell back (`watchFallBacks`) after
    /// the worker took the submission. After a fall back the worker gets the submission again.
    func settle(_ decision: PendingDecision) async throws(LedgerClosed) -> Durable<RecordedOutcome>

    /// Marks the events as acknowledged by Kafka. The next SQL transaction deletes their outbox rows.
    func published(_ eventIDs: [NameBasedUUID])

    /// Reads the state of the database before the first decision, so that the ledger notices a later fall back. Throws
    /// if the database is out of reach.
    func meetDatabase() async throws
    /// Sets the function that the ledger calls after a fall back. In a fall back, for example a restore, the database
    /// returns to an earlier state and loses later decisions. The ledger then decides nothing until a call of
    /// `lossesAreKnown`.
    func watchFallBacks(_ tell: @escaping @Sendable () -> Void)
    /// The number of fall backs so far. A decision is void if the database fell back after the worker took the
    /// decision's submission.
    var fallBackCount: Int { get }
    /// Lets the ledger decide again, unless the number of fall backs has changed since `count`.
    /// - Parameter count: the number of fall backs when the search for losses began.
    func lossesAreKnown(after count: Int)
}

extension PurchaseLedger {
    public func meetDatabase() async throws {}
    public func watchFallBacks(_ tell: @escaping @Sendable () -> Void) {}
    public var fallBackCount: Int { 0 }
    public func lossesAreKnown(after count: Int) {}
}

/// A value with the history of the database that wrote or read it. After a fail-over, a session may still be on the old
/// primary. The rows of the old primary count only in the old primary's history.
public struct Durable<Value: Sendable>: Sendable {
    public let value: Value
    /// The history; nil if the database cannot fall back, or if the value depends on no row.
    public let history: DatabaseHistory?

    public init(_ value: Value, in history: DatabaseHistory?) {
        self.value = value
        self.history = history
    }
}

/// The error of a ledger that is shutting down, or whose database fell back. The ledger has decided nothing, and a
/// worker gets the record again.
public struct LedgerClosed: Error, Sendable {
    public init() {}
}

/// A query for the ledger's data about a record and its proof. The type is a class for the same reason as `Submission`.
public final class RecallQuery: Sendable {
    public let position: RecordPosition
    public let proof: Digest256
    /// False if the record's offset is above every decided offset of the partition, so that the record has no answer
    /// yet.
    public let mayBeRedelivered: Bool
    /// True for a parked submission under a lease. Then the submission's own parked row does not count as an earlier
    /// answer.
    public let isParked: Bool
    /// The evidence of a proven proof, with at least one purchase; nil if only Apple can decide. If the ledger has all
    /// purchases of the evidence, the worker decides without Apple.
    public let evidence: GenuineReceipt?
    /// The player of a submission with an account token; nil if the submission has no token. A receipt names no tokens.
    /// So the ledger decides a submission with a token only if all purchases of the receipt are this player's.
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
    /// A worker answered this record before. The events have the same bytes as in that answer.
    case answered([OutcomeEvent])
    /// The record's submission is parked in PostgreSQL. The worker has no more to do for the record.
    case parked
    /// The ledger has every purchase of the proof, so the worker decides without Apple.
    indirect case provenBefore(GenuineReceipt)
}

/// A verdict with all data that the worker will store with it. The type is a class for the same reason as `Submission`.
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
    /// The facts about subscriptions in the evidence; empty if the app does not follow renewals.
    public let subscriptions: ToldSubscriptions
    /// True if workers report to Apple that the game delivered the submission's new and earlier grants.
    public let finishesGrants: Bool
    /// The terms under which the ledger stores rejected purchases as undelivered; nil if it stores none.
    public let undeliveredTerms: UndeliveredTerms?
    /// The trace for people; nil if there is none. No rule reads it.
    public let trace: DecisionTrace?
    /// The terms of an announced purchase that nobody submitted; nil for a submitted purchase.
    public let announced: AnnouncedTerms?
    /// True if a worker rejected the record without Apple and published the rejection, and Apple's later answer
    /// disagrees.
    public let isSecond: Bool
    /// True if the worker reads the record again after the database fell back. A worker may have published a grant that
    /// the database lost.
    public let isDecidedAgain: Bool
    /// The ledger's number of fall backs when the worker took the submission.
    public let fallBackCount: Int
    /// The refunded transactions in Apple's answers that are not among the verdict's purchases.
    public let shown: [NotifiedTransaction]
    /// The cause of a verdict on the whole submission; nil for the reason's own cause.
    public let cause: Cause?
    /// The cause that says how receiptd repaired the proof's text; nil if the text needed no repair.
    public let repair: Cause?

    /// - Parameter identity: the decision's identity; nil for the identity of the submission with this proof.
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

    /// Returns whether the worker publishes the event. A second decision publishes no rejection, because the first
    /// decision has used the event id that receiptd makes from the record.
    public func publishes(_ event: OutcomeEvent) -> Bool { !isSecond || event.kind != .rejected }
}

extension RecordPosition {
    /// The position of a second decision on the record. The ledger stores at most one row with this position, in
    /// addition to the row of the first decision.
    public var ofSecondDecision: RecordPosition {
        RecordPosition(
            topic: topic, partition: partition, offset: offset, timestamp: timestamp,
            content: Digest256(hashing: Array("second decision".utf8) + content.bytes))
    }
}

public enum RecordedOutcome: Sendable, Equatable {
    /// The committed events in publishing order. The outbox has each event that is new.
    case events([OutcomeEvent])
    /// The database refused the decision's data (SQLSTATE class 22 or 23). The worker parked the submission for an
    /// operator.
    case parked
}
