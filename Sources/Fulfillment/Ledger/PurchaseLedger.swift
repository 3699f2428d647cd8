import NamesAndTimes

/// The database of grants, holds and answers.
public protocol PurchaseLedger: Sendable {
    /// Returns what is known of a record and of its proof, before Apple is asked. Many callers share one round trip.
    /// Waits while the database is out of reach; throws only `LedgerClosed`.
    func recollect(_ query: RecallQuery) async throws(LedgerClosed) -> Durable<Recollection>

    /// Settles a decision against the ledger and makes it durable, with its events, in one SQL transaction shared with
    /// others. Returns after COMMIT. Waits while the database is out of reach.
    ///
    /// Throws only `LedgerClosed`, also if the database fell back after the submission was taken. The submission then
    /// comes again.
    func settle(_ decision: PendingDecision) async throws(LedgerClosed) -> Durable<RecordedOutcome>

    /// Notes that the broker acknowledged the events. The next transaction deletes their outbox rows.
    func published(_ eventIDs: [NameBasedUUID])

    /// Learns the state of the database that decisions begin in, so that a later fall back is noticed. Throws if the
    /// database is out of reach.
    func meetDatabase() async throws
    /// Sets the function to call if a database that was reached again has lost decisions. The ledger then decides
    /// nothing until `lossesAreKnown` is called.
    func watchFallBacks(_ tell: @escaping @Sendable () -> Void)
    /// The number of fall backs so far. A decision on a submission that was taken before the last one is void.
    var fallBackCount: Int { get }
    /// Lets the ledger decide again. Nothing happens if the database fell back once more since.
    /// - Parameter count: the number of fall backs when the search for losses began.
    func lossesAreKnown(after count: Int)
}

extension PurchaseLedger {
    public func meetDatabase() async throws {}
    public func watchFallBacks(_ tell: @escaping @Sendable () -> Void) {}
    public var fallBackCount: Int { 0 }
    public func lossesAreKnown(after count: Int) {}
}

/// A database's answer, with the history of the very database that wrote or found it. After a fail-over a session may
/// still be on the old primary, whose rows count only in its own history.
public struct Durable<Value: Sendable>: Sendable {
    public let value: Value
    /// The history; nil if no database can fall back, or if the answer depends on no row.
    public let history: DatabaseHistory?

    public init(_ value: Value, in history: DatabaseHistory?) {
        self.value = value
        self.history = history
    }
}

/// The ledger is shutting down, or its database fell back. The work is left undone, and its record comes again.
public struct LedgerClosed: Error, Sendable {
    public init() {}
}

/// A class, for the same reason as `Submission`.
public final class RecallQuery: Sendable {
    public let position: RecordPosition
    public let proof: Digest256
    /// False if this record's offset is above all that were ever decided. Then it cannot have an answer yet.
    public let mayBeRedelivered: Bool
    /// True for a parked submission under a lease: its own row is no earlier outcome.
    public let isParked: Bool
    /// The facts in a proven proof that needs no answer of Apple's, for a look-up by its purchases; nil for other
    /// proofs. Never empty.
    public let evidence: GenuineReceipt?
    /// The player, if the submission has an account token; nil otherwise. A receipt names no tokens, so that its
    /// purchases answer the submission only if all are this player's and no token could decide.
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
    /// This record waits in PostgreSQL. It is done here.
    case parked
    /// The ledger has every purchase of this proof: the answer follows without Apple.
    indirect case provenBefore(GenuineReceipt)
}

/// A verdict with everything that is stored with it, on its way into the ledger. A class, for the same reason as
/// `Submission`.
public final class PendingDecision: Sendable {
    public let submission: Submission
    public let position: RecordPosition
    public let proof: Digest256
    public let identity: NameBasedUUID
    public let verdict: Verdict
    public let environment: StoreEnvironment
    /// The evidence to remember behind the proof; nil if it must not be remembered.
    public let evidence: GenuineReceipt?
    public let decidedAt: Timestamp
    public let catalogVersion: Int64
    public let traceparent: String?
    /// The id of the parked row that this decision deletes; nil if the submission was not parked.
    public let parkedID: NameBasedUUID?
    /// The thresholds of risk signals; nil if the events carry none.
    public let risk: RiskThresholds?
    public let tokenUse: AccountTokenUse
    /// The facts about subscriptions in its evidence, if its app follows them.
    public let subscriptions: ToldSubscriptions
    /// True if workers report new and earlier grants of the submission to Apple.
    public let finishesGrants: Bool
    /// The terms under which refused purchases are stored as undelivered; nil: none is stored.
    public let undeliveredTerms: UndeliveredTerms?
    /// The trace for people; it decides nothing.
    public let trace: DecisionTrace?
    /// The terms of a purchase that nobody submitted; nil if it was submitted.
    public let announced: AnnouncedTerms?
    /// True if a worker refused the record before and Apple disagrees: a rejection was published.
    public let isSecond: Bool
    /// True if the record was read again after a restore of the database. A grant may have been published.
    public let isDecidedAgain: Bool
    /// The number of the ledger's fall backs when the submission was taken.
    public let fallBackCount: Int
    /// The refunds in Apple's answers besides the verdict's purchases, if the answers name purchases.
    public let shown: [NotifiedTransaction]
    /// The cause of a verdict on the whole; nil if its reason says all.
    public let cause: Cause?
    /// The repair of the proof; nil if it was sent intact.
    public let repair: Cause?

    /// - Parameter identity: the identity of the decision; nil takes the submission's with this proof.
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

    /// Returns whether the event is published. A second decision publishes only grants and holds: the id of a rejection
    /// is the record's, and the first decision used it.
    public func publishes(_ event: OutcomeEvent) -> Bool { !isSecond || event.kind != .rejected }
}

extension RecordPosition {
    /// The position of a second decision on the record. It is stored beside the record's own decision, and once.
    public var ofSecondDecision: RecordPosition {
        RecordPosition(
            topic: topic, partition: partition, offset: offset, timestamp: timestamp,
            content: Digest256(hashing: Array("second decision".utf8) + content.bytes))
    }
}

public enum RecordedOutcome: Sendable, Equatable {
    /// The events in publishing order. Durable: the outbox has those that are new.
    case events([OutcomeEvent])
    /// The database refuses the decision's data (SQLSTATE class 22 or 23). The submission is parked for an operator.
    case parked
}
