import Clocks
import Fulfillment
import Logging
import Operations
import Synchronization

/// Parked submissions that are due.
///
/// Those whose leases ended unseen, as of one that kills the process, are suspects: they are leased one at a time, with
/// nothing else leased beside them. The count of leases is in the row before anyone looks into the submission, as a
/// record's offset is in Kafka before that record is taken in isolation. Whoever died beside one is cleared by its own
/// next try, for that ends.
final class ParkedSource: LeaseSource {
    let part = Health.Part.parkedLoop
    let failingPart = FailingPart.parked
    let batch = PipelineLimits.parkedBatch
    private let worker: SubmissionWorker
    private let failures: Failures
    private let logger: Logger
    private let nextSuspectCheck = Mutex(0.0)

    private var parking: ParkingContext { worker.parking }

    init(worker: SubmissionWorker, failures: Failures, logger: Logger) {
        self.worker = worker
        self.failures = failures
        self.logger = logger
    }

    func nextTurn() async -> LeaseTurn {
        worker.noteNewCredentials()
        if WallClock.monotonicSeconds < nextSuspectCheck.withLock({ $0 }) { return .due }
        if await !hasSuspect() {
            checkForSuspects(afterSeconds: PipelineLimits.suspectSeconds)
            return .due
        }
        guard parking.slots.leased == 0 else { return .nothing }
        // Others come in between: suspects must not keep them waiting.
        checkForSuspects(afterSeconds: PipelineLimits.suspectSpacingSeconds)
        return await leaseSuspect().map { .isolated(SubmissionInHand(parked: $0)) } ?? .nothing
    }

    func leaseDue(limit: Int) async throws -> LeasedBatch {
        let leased = try await parking.store.leaseDue(limit: limit)
        return LeasedBatch(
            leased, by: { SharedAnswers.Key(proof: $0.proof, bundleID: $0.submission.bundleID) },
            isFull: leased.count { $0.isDue } == batch, inHand: SubmissionInHand.init(parked:sharing:))
    }

    /// Answered, by this try or an earlier one. Where it was parked again, the lease is over and the row stays.
    func end(_ item: SubmissionInHand) async throws {
        if let leased = item.parked { try await parking.store.delete(leased) }
    }

    func release(_ item: SubmissionInHand) async throws {
        if let leased = item.parked { try await parking.store.endLease(of: leased) }
    }

    /// What waits that long for Apple or the database has done no harm: a death in that time is an operator's.
    func clearSuspicion(of item: SubmissionInHand) async {
        guard let leased = item.parked else { return }
        let deadline = WallClock.monotonicSeconds + PipelineLimits.forgivingSeconds
        var seconds = PipelineLimits.isolatedSeconds
        while WallClock.monotonicSeconds < deadline {
            guard (try? await Task.sleep(for: .seconds(seconds))) != nil else { return }
            if (try? await parking.store.clearSuspicion(of: leased)) != nil { return }
            seconds = PipelineLimits.namingRetrySeconds
        }
    }

    private func checkForSuspects(afterSeconds seconds: Double) {
        nextSuspectCheck.withLock { $0 = WallClock.monotonicSeconds + seconds }
    }

    /// False while the database is out of reach.
    private func hasSuspect() async -> Bool {
        // An outage is no time to accuse anyone: tries last long and are cut off.
        guard !parking.apple.isDown else { return false }
        do { return try await parking.store.hasSuspect() } catch {
            failures.report(error, of: .parked)
            return false
        }
    }

    /// To be called while nothing else is leased. Nil where there is none to try.
    private func leaseSuspect() async -> LeasedSubmission? {
        guard parking.slots.beginLeasing() else { return nil }
        defer { parking.slots.endLeasing() }
        do {
            switch try await parking.store.leaseSuspect() {
            case .none: return nil
            case .setAside(let submission): noteSetAside(submission)
            case .isolated(let leased):
                parking.slots.leasesBegan(1)
                return leased
            }
        } catch {
            failures.report(error, of: .parked)
        }
        return nil
    }

    /// Its sender is not told: who has paid shall not be told no for a fault of ours.
    private func noteSetAside(_ submission: SetAsideSubmission) {
        worker.metrics.all.parkings.with(ParkingReason.crashed.rawValue).increment()
        logger.error(
            "a parked submission kills the process: it is set aside",
            [
                .submissionID: "\(submission.submissionID)", .bundleID: "\(submission.bundleID)",
                .count: .stringConvertible(submission.deaths),
            ])
    }
}
