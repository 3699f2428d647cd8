import NamesAndTimes

/// The seam to the database of grants, holds and answers.
public protocol PurchaseLedger: Sendable {
    /// Returns what is known of a record and of its proof, before Apple is asked. Many callers share one round trip.
    /// Waits while the database is out of reach; throws only `LedgerClosed`.
    func recollect(_ query: RecallQuery) async throws(LedgerClosed) -> Durable<Recollection>

    /// Settles a decision against the ledger and makes it durable, with its events, in one SQL transaction shared with
    /// others. Returns after COMMIT. Waits while the database is out of reach. Throws only `LedgerClosed`: also where the
    /// database fell back since the submission was taken, so that the submission comes again.
    func settle(_ decision: PendingDecision) async throws(LedgerClosed) -> Durable<RecordedOutcome>

    /// The events were acknowledged by the broker: their outbox rows go with the next transaction.
    func published(_ eventIDs: [NameBasedUUID])

    /// Has `tell` called where a database that was reached again has lost decisions. Nothing is decided from then on until
    /// `lossesAreKnown` is called.
    func watchFallBacks(_ tell: @escaping @Sendable () -> Void)
    /// The number of fall backs so far. A decision on a submission that was taken before the last one is void.
    var fallBackCount: Int { get }
    /// - Parameter count: the fall backs when the look for losses began. Nothing happens where another one came since.
    func lossesAreKnown(after count: Int)
}

extension PurchaseLedger {
    public func watchFallBacks(_ tell: @escaping @Sendable () -> Void) {}
    public var fallBackCount: Int { 0 }
    public func lossesAreKnown(after count: Int) {}
}

/// A database's answer, with the history of the very database that wrote or found it. After a fail-over a session may
/// still be on the old primary, whose rows count only in its own history.
public struct Durable<Value: Sendable>: Sendable {
    public let value: Value
    /// Nil where there is no database that could fall back, or where the answer depends on no row.
    public let history: DatabaseHistory?

    public init(_ value: Value, in history: DatabaseHistory?) {
        self.value = value
        self.history = history
    }
}

/// The ledger is shutting down, or its database fell back: the work is left undone, and its record will come again.
public struct LedgerClosed: Error, Sendable {
    public init() {}
}

/// A class for the reason that `Submission` is one.
public final class RecallQuery: Sendable {
    public let position: RecordPosition
    public let proof: Digest256
    /// False where this record's offset lies behind all that were ever decided: then it cannot have an answer yet.
    public let mayBeRedelivered: Bool
    /// True for a parked submission under a lease: its own row is no earlier outcome.
    public let isParked: Bool
    /// The facts in a proven proof, if it needs no answer of Apple's: it is recalled by its purchases too. Not empty.
    public let evidence: GenuineReceipt?
    /// The player, where the submission has an account token: what the receipt tells of its purchases carries none, so
    /// that it is recalled by them only where all are this player's and no token could decide.
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
    /// This very record was answered before: these are its events, byte for byte.
    case answered([OutcomeEvent])
    /// This very record waits in PostgreSQL: it is done here.
    case parked
    /// The ledger has every purchase of this proof: the answer follows without Apple.
    indirect case provenBefore(GenuineReceipt)
}

/// A verdict with all that is stored with it, on its way into the ledger. A class for the reason that `Submission` is
/// one.
public final class PendingDecision: Sendable {
    public let submission: Submission
    public let position: RecordPosition
    public let proof: Digest256
    public let identity: NameBasedUUID
    public let verdict: Verdict
    public let environment: StoreEnvironment
    /// The evidence to remember behind the proof, nil if it must not be.
    public let evidence: GenuineReceipt?
    public let decidedAt: Timestamp
    public let catalogVersion: Int64
    public let traceparent: String?
    /// The parked row that goes with this decision, nil where the submission never was parked.
    public let parkedID: NameBasedUUID?
    /// The thresholds from which its events carry signals; nil: they carry none.
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
    /// Nil where it was submitted.
    public let announced: AnnouncedTerms?
    /// The record was refused here, and Apple disagrees: a rejection was published before.
    public let isSecond: Bool
    /// The record was read again after a restore of the database: its grant may have been published.
    public let isDecidedAgain: Bool
    /// The ledger's fall backs when the submission was taken.
    public let fallBackCount: Int
    /// The refunds in Apple's answers besides the verdict's purchases, if the answers name purchases.
    public let shown: [NotifiedTransaction]
    /// The cause of a verdict on the whole; nil if its reason says all.
    public let cause: Cause?
    /// The repair of the proof; nil if it was sent intact.
    public let repair: Cause?

    /// - Parameter identity: nil: the submission's with this proof.
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

    /// Whether it is published: of a second decision only what grants or holds, for the rejection's id is the record's,
    /// and it is taken.
    public func publishes(_ event: OutcomeEvent) -> Bool { !isSecond || event.kind != .rejected }
}

extension RecordPosition {
    /// The position of a second decision on the record: it is stored beside the record's own decision, and once.
    public var ofSecondDecision: RecordPosition {
        RecordPosition(
            topic: topic, partition: partition, offset: offset, timestamp: timestamp,
            content: Digest256(hashing: Array("second decision".utf8) + content.bytes))
    }
}

public enum RecordedOutcome: Sendable, Equatable {
    /// The events in publishing order. Durable: the outbox has those that are new.
    case events([OutcomeEvent])
    /// The database refuses this one's data (SQLSTATE class 22 or 23): it is parked for an operator.
    case parked
}
