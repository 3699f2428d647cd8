/// The seam to the database: who was granted what, and what was answered.
public protocol PurchaseLedger: Sendable {
    /// What is known of a record and of its proof, before Apple is asked. Many callers share one round trip.
    /// Waits while the database is out of reach; throws only `LedgerClosed`.
    func recollect(_ query: RecallQuery) async throws(LedgerClosed) -> Durable<Recollection>

    /// Settles a decision against the ledger and makes it durable, with its events, in one SQL transaction shared with
    /// others. Returns after COMMIT. Waits while the database is out of reach; throws only `LedgerClosed`.
    func settle(_ decision: PendingDecision) async throws(LedgerClosed) -> Durable<RecordedOutcome>

    /// The events were acknowledged by the broker: their outbox rows go with the next transaction.
    func published(_ eventIDs: [NameBasedUUID])
}

/// What a database answered, with the history of the very database that wrote or found it. After a fail-over a session may
/// still be on the old primary: what stands there counts only for those who know its history.
public struct Durable<Value: Sendable>: Sendable {
    public let value: Value
    /// Nil where there is no database that could fall back, or where the answer rests on nothing that stands there.
    public let history: DatabaseHistory?

    public init(_ value: Value, in history: DatabaseHistory?) {
        self.value = value
        self.history = history
    }
}

/// The ledger is shutting down: the work is left undone, and its record will come again.
public struct LedgerClosed: Error, Sendable {
    public init() {}
}

public struct RecallQuery: Sendable {
    public let position: RecordPosition
    public let proof: Digest256
    /// False where this record's offset lies behind all that were ever decided: then it cannot have an answer yet.
    public let mayBeRedelivered: Bool
    /// True for one that was taken up from PostgreSQL: its own row there tells nothing.
    public let isParked: Bool
    /// What a proven proof tells by itself, where that is all there is: it is recalled by its purchases too. Not empty.
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
    /// Every purchase behind this proof stands in the ledger: the answer follows without Apple.
    case provenBefore(GenuineReceipt)
}

/// A ruling on its way into the ledger. A class for the reason that `Submission` is one.
public final class PendingDecision: Sendable {
    public let submission: Submission
    public let position: RecordPosition
    public let proof: Digest256
    public let identity: NameBasedUUID
    public let ruling: Ruling
    public let environment: StoreEnvironment
    /// What is remembered behind the proof, nil where it must not be.
    public let evidence: GenuineReceipt?
    public let decidedAt: Timestamp
    public let catalogVersion: Int64
    public let traceparent: String?
    /// The parked row that goes with this decision, nil where the submission never was parked.
    public let parkedID: NameBasedUUID?
    /// From where on its events carry signals; nil: they carry none.
    public let risk: RiskThresholds?
    public let tokenUse: AccountTokenUse
    /// For people; it decides nothing.
    public let trace: DecisionTrace?

    /// - Parameter identity: nil: the submission's with this proof.
    public init(
        submission: Submission, position: RecordPosition, proof: Digest256, identity: NameBasedUUID? = nil,
        ruling: Ruling, environment: StoreEnvironment, evidence: GenuineReceipt?, decidedAt: Timestamp,
        catalogVersion: Int64, traceparent: String?, parkedID: NameBasedUUID? = nil, risk: RiskThresholds? = nil,
        tokenUse: AccountTokenUse = .none, trace: DecisionTrace? = nil
    ) {
        self.submission = submission
        self.position = position
        self.proof = proof
        self.identity = identity ?? submission.identity(proof: proof)
        self.ruling = ruling
        self.environment = environment
        self.evidence = evidence
        self.decidedAt = decidedAt
        self.catalogVersion = catalogVersion
        self.traceparent = traceparent
        self.parkedID = parkedID
        self.risk = risk
        self.tokenUse = tokenUse
        self.trace = trace
    }
}

public enum RecordedOutcome: Sendable, Equatable {
    /// In the order in which they are to be published. Durable: the outbox has those that are new.
    case events([OutcomeEvent])
    /// The database refuses this one's data (SQLSTATE class 22 or 23): it is parked for an operator.
    case parked
}
