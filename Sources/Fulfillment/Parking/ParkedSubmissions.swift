import NamesAndTimes

/// A submission on its way into PostgreSQL, to wait there.
public struct ParkingSubmission: Sendable {
    public let submission: Submission
    public let position: RecordPosition
    /// SHA-256 of the decoded proof.
    public let proof: Digest256
    /// True if Apple signed the proof for this app. Then the number of the player's parked proofs does not matter.
    public let isProven: Bool
    public let traceparent: String?
    public let reason: ParkingReason
    /// The kind of trouble in one word for the operator; nil if the reason says all. It holds no secret.
    public let detail: String?
    public let history: WaitingHistory
    /// The seconds from COMMIT until the next try.
    public let dueAfterSeconds: Double
    /// The purchases of a proven proof that the player waits for.
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

/// A parked submission under a lease. Nobody else takes it before its lease is over.
public struct LeasedSubmission: Sendable {
    /// The end of the lease in PostgreSQL's microseconds. It distinguishes this lease from a later one.
    public typealias Lease = Int64

    public let id: NameBasedUUID
    public let submission: Submission
    public let position: RecordPosition
    public let proof: Digest256
    public let traceparent: String?
    public let reason: ParkingReason
    public let history: WaitingHistory
    /// False if it was leased only because a due submission has the same proof. An answer that decides nothing leaves
    /// it as it was.
    public let isDue: Bool
    public let lease: Lease
    /// True if the database was restored to an earlier state and may have lost a published decision on its record.
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

/// A set-aside submission as operators may see it.
public struct SetAsideSubmission: Sendable, Equatable {
    public let submissionID: String
    public let bundleID: String
    /// The number of workers that died while only it was leased.
    public let deaths: Int
    /// True if it is due once more, `ParkingPolicy.lastTrySeconds` from now; false if an operator decides.
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
    /// The submission does not wait: its proof is not proven, and its player or the whole fleet has the most such proofs
    /// parked.
    case tooManyWaiting
}

/// The store of submissions that Apple cannot answer yet. All replicas share it; times are the database's.
public protocol ParkedSubmissions: Sendable {
    /// Returns once the submission waits durably. One that waits already keeps its first row. Waits while the database
    /// is out of reach; throws only `LedgerClosed`.
    ///
    /// The answer has the history of the database that stored it; nil if that database cannot fall back.
    @discardableResult
    func park(_ submission: ParkingSubmission) async throws(LedgerClosed) -> Durable<ParkingOutcome>

    /// Leases up to `limit` due submissions, oldest first, each followed by others of the same app and proof. It leases
    /// no suspect: a submission that was leased three times without a release. Throws if the database is out of reach.
    func leaseDue(limit: Int) async throws -> [LeasedSubmission]

    /// Whether a suspect is due.
    func hasSuspect() async throws -> Bool

    /// Leases the suspect that is due first, or sets it aside. Call it while no other submission is leased.
    ///
    /// Three deaths of workers in isolation set it aside until its last try is due. One more death leaves it to an
    /// operator. A submission parked as `crashed` has had the three.
    func leaseSuspect() async throws -> SuspectLease<LeasedSubmission, SetAsideSubmission>

    /// Notes that the isolated submission only waits from now on, or is about to. A death of the process does not count
    /// against it.
    func clearSuspicion(of leased: LeasedSubmission) async throws

    /// Notes that the try goes on. A death of the process counts against it again. Nothing happens if the lease is
    /// over.
    func accuse(_ leased: LeasedSubmission) async throws

    /// Releases a submission without a verdict, to be tried again later. Nothing happens if the lease is over.
    func reschedule(
        _ leased: LeasedSubmission, reason: ParkingReason, detail: String?, history: WaitingHistory,
        dueAfterSeconds: Double
    ) async throws

    /// Releases a submission as if it had never been leased.
    func endLease(of leased: LeasedSubmission) async throws

    /// Deletes a submission whose answer is durable. Nothing happens if the lease is over or the row is gone.
    func delete(_ leased: LeasedSubmission) async throws

    /// Makes submissions due that wait for the end of Apple's trouble: at most `count`, of these apps, or of all if
    /// nil. Each call continues behind the place that the last one returned (nil at first), so that all have their
    /// turn. It reads a bounded number of rows. Throws if the database is out of reach.
    func wakeTroubled(
        _ count: Int, of apps: Set<BundleID>?, after place: NameBasedUUID?
    ) async throws -> NameBasedUUID?

    /// Makes the app's submissions due that wait for these reasons, spread over a short while, because its credentials
    /// work again.
    func retryBlocked(_ bundleID: BundleID, for reasons: [ParkingReason]) async throws
}

extension RecordPosition {
    /// The id of this record's parked row. It is always the same, so that the record waits once.
    public var parkedID: NameBasedUUID {
        NameBasedUUID([
            Array("parked".utf8), Array(topic.utf8), Array(String(partition).utf8), Array(String(offset).utf8),
            content.bytes,
        ])
    }
}
