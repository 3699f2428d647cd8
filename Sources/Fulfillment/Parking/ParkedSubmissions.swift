import NamesAndTimes

/// A submission on its way into PostgreSQL, to wait there.
public struct ParkingSubmission: Sendable {
    public let submission: Submission
    public let position: RecordPosition
    /// SHA-256 of the decoded proof.
    public let proof: Digest256
    /// The proof's signature is Apple's, and it is this app's: it is parked however many of the player's are.
    public let isProven: Bool
    public let traceparent: String?
    public let reason: ParkingReason
    /// One word for the operator: the kind of trouble. Holds no secret.
    public let detail: String?
    public let history: WaitingHistory
    /// Seconds until the next try, from COMMIT.
    public let dueAfterSeconds: Double
    /// The purchases of a proven proof that the player waits for.
    public let undelivered: [UndeliveredPurchase]

    /// - Parameters:
    ///   - evidence: what the proof tells where it is proven.
    ///   - cutover: the app's.
    public init(
        submission: Submission, position: RecordPosition, proof: Digest256, isProven: Bool = false,
        evidence: GenuineReceipt? = nil, cutover: Timestamp? = nil, traceparent: String?, reason: ParkingReason,
        detail: String? = nil,
        history: WaitingHistory, dueAfterSeconds: Double
    ) {
        self.submission = submission
        self.position = position
        self.proof = proof
        self.isProven = isProven
        self.traceparent = traceparent
        self.reason = reason
        self.detail = detail
        self.history = history
        self.dueAfterSeconds = dueAfterSeconds
        undelivered = Self.undelivered(evidence, since: cutover, of: submission)
    }
}

/// A leased parked submission: nobody else takes it before its lease is over.
public struct LeasedSubmission: Sendable {
    /// The end of the lease, in PostgreSQL's microseconds: it tells this lease from a later one.
    public typealias Lease = Int64

    public let id: NameBasedUUID
    public let submission: Submission
    public let position: RecordPosition
    public let proof: Digest256
    public let traceparent: String?
    public let reason: ParkingReason
    public let history: WaitingHistory
    /// False where it came along only because its proof is another's: an answer that decides nothing leaves it as it was.
    public let isDue: Bool
    public let lease: Lease
    /// The database was restored to an earlier state, and may have lost a decision on its record that was told.
    public let isDecidedAgain: Bool

    public init(
        id: NameBasedUUID, submission: Submission, position: RecordPosition, proof: Digest256, traceparent: String?,
        reason: ParkingReason, history: WaitingHistory, isDue: Bool, lease: Lease, isDecidedAgain: Bool = false
    ) {
        self.id = id
        self.submission = submission
        self.position = position
        self.proof = proof
        self.traceparent = traceparent
        self.reason = reason
        self.history = history
        self.isDue = isDue
        self.lease = lease
        self.isDecidedAgain = isDecidedAgain
    }
}

/// A set-aside submission as people may see it.
public struct SetAsideSubmission: Sendable, Equatable {
    public let submissionID: String
    public let bundleID: String
    /// The deaths of workers while only it was leased.
    public let deaths: Int
    /// Whether it is due once more, `ParkingPolicy.lastTrySeconds` from now. False: an operator decides.
    public let isTriedAgain: Bool

    public init(submissionID: String, bundleID: String, deaths: Int, isTriedAgain: Bool) {
        self.submissionID = submissionID
        self.bundleID = bundleID
        self.deaths = deaths
        self.isTriedAgain = isTriedAgain
    }
}

/// The result of handing a submission over.
public enum ParkingOutcome: Sendable, Equatable {
    /// The submission waits durably.
    case parked
    /// The submission does not wait: its proof is not proven, and the player has as many such proofs parked as one may
    /// have.
    case tooManyWaiting
}

/// The store of submissions that Apple cannot answer yet. Shared by all replicas; times are the database's.
public protocol ParkedSubmissions: Sendable {
    /// Returns once the submission waits there durably; one that does already keeps its first row. Waits while the
    /// database is out of reach; throws only `LedgerClosed`.
    ///
    /// With the history of the database that says so, nil where that cannot fall back.
    @discardableResult
    func park(_ submission: ParkingSubmission) async throws(LedgerClosed) -> Durable<ParkingOutcome>

    /// Leases up to `limit` that are due, oldest first, each with others of the same app and proof behind it. None that
    /// was leased three times without a release: those are suspects. Throws where the database is out of reach.
    func leaseDue(limit: Int) async throws -> [LeasedSubmission]

    /// Whether a suspect is due.
    func hasSuspect() async throws -> Bool

    /// Leases the suspect that is due first, or sets it aside. To be called while no other is leased.
    ///
    /// Three deaths of its workers in isolation set it aside until its last try is due; one more leaves it to an
    /// operator. A submission parked as `crashed` has had the three.
    func leaseSuspect() async throws -> SuspectLease<LeasedSubmission, SetAsideSubmission>

    /// The isolated submission only waits from now on, or is about to: a death of the process no longer counts against
    /// it.
    func clearSuspicion(of leased: LeasedSubmission) async throws

    /// Notes that the try goes on: a death of the process is counted against it again. Nothing happens where the lease
    /// is over.
    func accuse(_ leased: LeasedSubmission) async throws

    /// Releases one that is still undecided, to be tried again later. Nothing happens where the lease is over.
    func reschedule(
        _ leased: LeasedSubmission, reason: ParkingReason, detail: String?, history: WaitingHistory,
        dueAfterSeconds: Double
    ) async throws

    /// Releases one as if it had never been leased.
    func endLease(of leased: LeasedSubmission) async throws

    /// Deletes a submission whose answer is durable. Nothing happens where the lease is over or the row is gone.
    func delete(_ leased: LeasedSubmission) async throws

    /// Makes submissions due that wait for the end of Apple's trouble, at most `count` of these apps, or of all (nil). Each
    /// call goes on behind the place that the last one returned, from anywhere (nil) at first, so that all have their turn.
    /// It looks at a bounded number of rows. Throws where the database is out of reach.
    func wakeTroubled(
        _ count: Int, of apps: Set<BundleID>?, after place: NameBasedUUID?
    ) async throws -> NameBasedUUID?

    /// The app's credentials work again: what waited for these reasons is due, spread over a short while.
    func retryBlocked(_ bundleID: BundleID, for reasons: [ParkingReason]) async throws
}

extension RecordPosition {
    /// The parked row of this record: the same for the same record, so that it waits once.
    public var parkedID: NameBasedUUID {
        NameBasedUUID([
            Array("parked".utf8), Array(topic.utf8), Array(String(partition).utf8), Array(String(offset).utf8),
            content.bytes,
        ])
    }
}
