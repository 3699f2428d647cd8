import NamesAndTimes

/// A submission that a worker is about to park in PostgreSQL.
public struct ParkingSubmission: Sendable {
    public let submission: Submission
    public let position: RecordPosition
    /// SHA-256 of the decoded proof.
    public let proof: Digest256
    /// True if Apple signed the proof for this app. The limit of parked submissions does not apply to a proven proof.
    public let isProven: Bool
    public let traceparent: String?
    public let reason: ParkingReason
    /// The kind of trouble in one word, for operators; nil if the reason is enough. The word has no secret.
    public let detail: String?
    public let history: WaitingHistory
    /// The seconds from COMMIT until the next try.
    public let dueAfterSeconds: Double
    /// The purchases that the player waits for; empty unless receiptd verified the proof's signature itself.
    public let undelivered: [UndeliveredPurchase]

    /// - Parameters:
    ///   - evidence: the evidence in a proven proof; nil if the proof is not proven.
    ///   - cutover: the app's cutover; nil if it has none.
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

/// A parked submission under a lease. No other worker takes the submission before the lease is over.
public struct LeasedSubmission: Sendable {
    /// The end of the lease, in PostgreSQL's microseconds. Each later lease of the submission has a different end.
    public typealias Lease = Int64

    public let id: NameBasedUUID
    public let submission: Submission
    public let position: RecordPosition
    public let proof: Digest256
    public let traceparent: String?
    public let reason: ParkingReason
    public let history: WaitingHistory
    /// False if this submission is not due, and the worker leased it beside a due submission with the same proof. Then
    /// Apple's answer changes this submission only if the answer gives a verdict.
    public let isDue: Bool
    public let lease: Lease
    /// True if the database fell back to an earlier state and may have lost a published decision on the submission.
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

/// A submission that is set aside because workers died while they worked on it. The value has no data that operators
/// must not see.
public struct SetAsideSubmission: Sendable, Equatable {
    public let submissionID: String
    public let bundleID: String
    /// The number of workers that died while this submission was their only lease.
    public let deaths: Int
    /// True if a worker will try the submission once more, after `ParkingPolicy.lastTrySeconds`; false if only an
    /// operator can order another try.
    public let isTriedAgain: Bool

    public init(submissionID: String, bundleID: String, deaths: Int, isTriedAgain: Bool) {
        self.submissionID = submissionID
        self.bundleID = bundleID
        self.deaths = deaths
        self.isTriedAgain = isTriedAgain
    }
}

/// The result of parking a submission.
public enum ParkingOutcome: Sendable, Equatable {
    /// The submission has a committed row in PostgreSQL.
    case parked
    /// The submission is not parked. Its proof is not proven, and its player or the whole fleet has reached the limit
    /// of parked submissions with unproven proofs.
    case tooManyWaiting
}

/// The store of parked submissions. All replicas share the store. Due times and leases follow the database's clock.
/// Every function except `park` throws if the database is out of reach.
public protocol ParkedSubmissions: Sendable {
    /// Parks the submission, and returns after the COMMIT of its row. If the submission is parked already, its first
    /// row stays. The call waits while the database is out of reach, and throws only `LedgerClosed`.
    ///
    /// The result names the database history in which the row was stored: the time since the server's last start,
    /// fail-over or restore. The history is nil if the database cannot fall back to an earlier state.
    @discardableResult
    func park(_ submission: ParkingSubmission) async throws(LedgerClosed) -> Durable<ParkingOutcome>

    /// Leases up to `limit` due submissions, oldest first. After each due submission come the other submissions with
    /// its app and proof. Leases no suspect. A suspect is a submission whose last three leases ended without a release.
    func leaseDue(limit: Int) async throws -> [LeasedSubmission]

    /// Returns whether a suspect is due.
    func hasSuspect() async throws -> Bool

    /// Leases the suspect that is due first, or sets the suspect aside. Call this function while this process has
    /// leased no other parked or held row.
    ///
    /// If three workers died while they tried the suspect alone (in isolation), this function sets it aside until its
    /// last try is due. After a fourth death, only an operator can order another try. A submission that was parked as
    /// `crashed` begins with three deaths.
    func leaseSuspect() async throws -> SuspectLease<LeasedSubmission, SetAsideSubmission>

    /// Withdraws the accusation against the isolated submission, because the work on the submission now only waits. The
    /// accusation makes a death of the worker count against the submission.
    func clearSuspicion(of leased: LeasedSubmission) async throws

    /// Stores the accusation against the isolated submission again, because the work on the submission goes on. If the
    /// lease is over, nothing happens.
    func accuse(_ leased: LeasedSubmission) async throws

    /// Releases a submission without a verdict, due again after `dueAfterSeconds`. If the lease is over, nothing
    /// happens.
    func reschedule(
        _ leased: LeasedSubmission, reason: ParkingReason, detail: String?, history: WaitingHistory,
        dueAfterSeconds: Double
    ) async throws

    /// Releases a submission as if it had never been leased.
    func endLease(of leased: LeasedSubmission) async throws

    /// Deletes the row of a submission whose answer is committed. If the lease is over or the row is gone, nothing
    /// happens.
    func delete(_ leased: LeasedSubmission) async throws

    /// Makes due up to `count` submissions that wait for the end of Apple's trouble. Only submissions of `apps` count;
    /// nil means all apps. Each call reads a bounded number of rows after `place`, and returns the place for the next
    /// call, so that each submission gets its turn. A nil place means the first row.
    func wakeTroubled(
        _ count: Int, of apps: Set<BundleID>?, after place: NameBasedUUID?
    ) async throws -> NameBasedUUID?

    /// Makes due the app's submissions that are parked for one of `reasons`, because the app's credentials work again.
    /// Spreads their due times over a short while.
    func retryBlocked(_ bundleID: BundleID, for reasons: [ParkingReason]) async throws
}

extension RecordPosition {
    /// The id of this record's parked row. The id depends only on the record, so that a record has at most one row.
    public var parkedID: NameBasedUUID {
        NameBasedUUID([
            Array("parked".utf8), Array(topic.utf8), Array(String(partition).utf8), Array(String(offset).utf8),
            content.bytes,
        ])
    }
}
