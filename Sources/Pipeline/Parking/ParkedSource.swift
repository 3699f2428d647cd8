import Fulfillment
import Logging
import Operations

/// A leased parked submission in memory.
struct ParkedInHand: Sendable {
    let leased: LeasedSubmission
    let item: SubmissionInHand

    /// - Parameter answer: Apple's answer for all leased submissions of this app and proof.
    init(_ leased: LeasedSubmission, sharing answer: GroupAnswer = GroupAnswer(), fallBackCount: Int = 0) {
        self.leased = leased
        item = SubmissionInHand(parked: leased, sharing: answer, fallBackCount: fallBackCount)
    }
}

/// Leases parked submissions that are due. A submission with three leases that ended without a result may have killed
/// the process. The submission is then a suspect, and the worker leases suspects one at a time.
struct ParkedSource: IsolatingWork {
    let part = Health.Part.parkedLoop
    let failingPart = FailingPart.parked
    let worker: SubmissionWorker
    private let suspects: SuspectTurns
    private let logger: Logger

    let batch = PipelineLimits.parkedBatch
    var parking: ParkingContext { worker.parking }

    init(worker: SubmissionWorker, failures: Failures, logger: Logger) {
        self.worker = worker
        suspects = SuspectTurns(parking: worker.parking, failures: failures, part: failingPart)
        self.logger = logger
    }

    func nextTurn() async -> DueTurn<ParkedInHand> {
        worker.noteNewCredentials()
        let fallBackCount = worker.ledger.fallBackCount
        return await suspects.next(
            ifAny: { try await parking.store.hasSuspect() }, lease: { try await parking.store.leaseSuspect() },
            inHand: { ParkedInHand($0, fallBackCount: fallBackCount) }, setAside: countSetAside)
    }

    func leaseDue(limit: Int) async throws -> DueBatch<ParkedInHand> {
        let fallBackCount = worker.ledger.fallBackCount
        try await wakeTroubled()
        let leased = try await parking.store.leaseDue(limit: limit)
        return DueBatch(
            leased, by: { SharedAnswers.Key(proof: $0.proof, bundleID: $0.submission.bundleID) },
            isFull: leased.count { $0.isDue } == PipelineLimits.parkedBatch,
            inHand: { ParkedInHand($0, sharing: $1, fallBackCount: fallBackCount) })
    }

    /// When Apple has answered submissions after a failure, makes due some parked submissions that wait for the end of
    /// such a failure.
    private func wakeTroubled() async throws {
        guard let signs = parking.recovery.take(isDown: parking.apple.isDown) else { return }
        let place = try await parking.store.wakeTroubled(signs.count, of: signs.apps, after: signs.place)
        parking.recovery.looked(to: place)
    }

    func work(on parked: ParkedInHand) async throws {
        CrashPoint.passed(.submission(parked.leased.submission))
        try await worker.work(on: parked.item)
        // Deletes the row after a local rejection, or if the worker found a stored verdict. If this try stored the
        // verdict, the try's SQL transaction has already deleted the row. If the submission was parked again, this
        // lease is over, and the row stays.
        try await Suspected.waiting { try await parking.store.delete(parked.leased) }
    }

    func release(_ item: ParkedInHand) async throws { try await parking.store.endLease(of: item.leased) }
    func accuse(_ item: ParkedInHand) async throws { try await parking.store.accuse(item.leased) }
    func clear(_ item: ParkedInHand) async throws { try await parking.store.clearSuspicion(of: item.leased) }

    /// Counts and logs a submission that is set aside. Its sender gets no event.
    private func countSetAside(_ submission: SetAsideSubmission) {
        worker.metrics.all.parkings.with(ParkingReason.crashed.rawValue).increment()
        worker.metrics.all.incidents.note(.crashed, of: "a parked submission")
        logger.error(
            submission.isTriedAgain
                ? "a parked submission crashes the process: the worker will try it once more in isolation"
                : "a parked submission crashes the process: the submission waits for an operator",
            [
                .submissionID: "\(submission.submissionID)", .bundleID: "\(submission.bundleID)",
                .count: .stringConvertible(submission.deaths),
            ])
    }
}
