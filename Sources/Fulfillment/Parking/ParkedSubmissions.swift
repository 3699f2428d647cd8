import NamesAndTimes

/// A submission that a worker is about to park in PostgreSQL.
public struct ParkingSubmission: Sendable {
    public let submission: Submission
    public let position: RecordPosition
    /// SHA-256 of the decoded proof.
    public let proof: Digest256
    /// True if Apple signed the proof for this app. The limit of parked submissions then does not apply.
    public let isProven: Bool
    public let traceparent: String?
    public let reason: ParkingReason
    /// The kind of trouble in one word, for operators and without secrets; nil if the reason says all.
    public let detail: String?
    public let history: WaitingHistory
    /// The seconds from COMMIT until the next try.
    public let dueAfterSeconds: Double
    /// The purchases that the player waits for; empty unless the proof is proven.
    public let undelivered: [UndeliveredPurchase]

    /// - Parameters:
    ///   - evidence: the facts in a proven proof; nil without one.
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
    /// The lease's end in PostgreSQL's microseconds, which distinguishes this lease from a later one.
    public typealias Lease = Int64

    public let id: NameBasedUUID
    public let submission: Submission
    public let position: RecordPosition
    public let proof: Digest256
    public let traceparent: String?
    public let reason: ParkingReason
    public let history: WaitingHistory
    /// False if the worker leased the submission only because a due one has the same proof. Apple's answer then leaves
    /// this submission as it was, unless the answer decides.
    public let isDue: Bool
    public let lease: Lease
    /// True if the database was restored to an earlier state and may have lost a published decision on the submission.
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

/// A set-aside submission, without data that operators must not see.
public struct SetAsideSubmission: Sendable, Equatable {
    public let submissionID: String
    public let bundleID: String
    /// The number of workers that died while they had leased only this submission.
    public let deaths: Int
    /// True if the submission is tried once more, `ParkingPolicy.lastTrySeconds` from now; false if only an operator
    /// can have it tried.
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
    /// The submission waits durably.
    case parked
    /// The submission is not parked. Its proof is not proven, and its player or the whole fleet has reached the limit
    /// of parked submissions with such proofs.
    case tooManyWaiting
}

/// The store of submissions that Apple cannot answer yet. All replicas share it; times are the database's.
public protocol ParkedSubmissions: Sendable {
    /// Parks the submission, and returns once its row is durable. If a submission is parked already, its first row
    /// stays. The call waits while the database is out of reach, and throws only `LedgerClosed`.
    ///
    /// The result names the history of the database that stored the row; nil if that database cannot fall back.
    @discardableResult
    func park(_ submission: ParkingSubmission) async throws(LedgerClosed) -> Durable<ParkingOutcome>

    /// Leases up to `limit` due submissions, oldest first, each followed by others of the same app and proof. Suspects
    /// are left out: they were leased three times without a release. Throws if the database is out of reach.
    func leaseDue(limit: Int) async throws -> [LeasedSubmission]

    /// Returns whether a suspect is due.
    func hasSuspect() async throws -> Bool

    /// Leases the suspect that is due first, or sets the suspect aside. The caller has leased no other submission.
    ///
    /// After three deaths of workers in isolation, the suspect is set aside until its last try is due. After one more
    /// death, only an operator can have it tried. A submission that was parked as `crashed` has had three deaths.
    func leaseSuspect() async throws -> SuspectLease<LeasedSubmission, SetAsideSubmission>

    /// Notes that the isolated submission only waits from now on. A death of the process then does not count against
    /// the submission.
    func clearSuspicion(of leased: LeasedSubmission) async throws

    /// Notes that the try of the isolated submission goes on. A death of the process counts against the submission
    /// again. Nothing happens if the lease is over.
    func accuse(_ leased: LeasedSubmission) async throws

    /// Releases a submission without a verdict, due again after `dueAfterSeconds`. Nothing happens if the lease is
    /// over.
    func reschedule(
        _ leased: LeasedSubmission, reason: ParkingReason, detail: String?, history: WaitingHistory,
        dueAfterSeconds: Double
    ) async throws

    /// Releases a submission as if it had never been leased.
    func endLease(of leased: LeasedSubmission) async throws

    /// Deletes a submission whose answer is durable. Nothing happens if the lease is over or the row is gone.
    func delete(_ leased: LeasedSubmission) async throws

    /// Makes due up to `count` submissions that wait for the end of Apple's trouble, of these apps, or of all apps if
    /// nil. The call begins behind `place`, reads a bounded number of rows, and returns the place for the next call;
    /// nil means the beginning. So every submission has its turn. Throws if the database is out of reach.
    func wakeTroubled(
        _ count: Int, of apps: Set<BundleID>?, after place: NameBasedUUID?
    ) async throws -> NameBasedUUID?

    /// Makes due the app's submissions that wait for these reasons, because the app's credentials work again. Their due
    /// times are spread over a short while.
    func retryBlocked(_ bundleID: BundleID, for reasons: [ParkingReason]) async throws
}

extension RecordPosition {
    /// The id of this record's parked row. A record always has the same id, and so one row at most.
    public var parkedID: NameBasedUUID {
        NameBasedUUID([
            Array("parked".utf8), Array(topic.utf8), Array(String(partition).utf8), Array(String(offset).utf8),
            content.bytes,
        ])
    }
}
