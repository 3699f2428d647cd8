import Fulfillment
import NamesAndTimes

/// One submission's retries, with its slot while it retries in memory. One task's own.
final class RetryState {
    enum Next {
        case tryAgain(afterSeconds: Double)
        case park(ParkingPlan)
    }

    private let parking: ParkingContext
    private let item: SubmissionInHand
    private var hasSlot = false
    /// The wait in memory that is under way, or that is over and not counted yet; nil without one.
    private var uncounted: (seconds: Double, since: Double, downSecondsBefore: Double)?
    private(set) var history: WaitingHistory
    /// The answers to further questions: a retry asks only the open ones.
    var further: FurtherAnswers

    init(of item: SubmissionInHand, in parking: ParkingContext) {
        self.parking = parking
        self.item = item
        switch item.origin {
        case .record:
            history = WaitingHistory()
            // The player's earlier ones waited for Apple: if it fails as they did, its time may be over.
            history.noteWait(seconds: item.secondsBehindOthers)
        case .parked(let leased): history = leased.history
        }
        further = FurtherAnswers(settled: history.lookedUp)
    }

    /// The time at which it was first tried or parked; nil at its first try.
    var takenAt: Timestamp? { history.firstFailureAt }

    /// True if it was tried before in vain, or waited in the database.
    var isRetry: Bool { history.failures > 0 || item.isParked }

    /// True if it met trouble before.
    var hasFailed: Bool { history.failures > 0 }

    /// Returns the number of times that Apple gave the answer before, and 0 for a parked one that is not due yet. Its
    /// tries are spread over `RETRY_DOUBT_SECONDS`, whoever else asks for its proof.
    func doubts(_ reason: Reason) -> Int {
        if let leased = item.parked, !leased.isDue { 0 } else { history.doubts[reason, default: 0] }
    }

    func next(after judgement: Judgement, now: Timestamp) -> Next {
        countWait()
        further.forgetUnknown()
        history.note(judgement, now: now)
        let jitter = Double.random(in: 0..<1)
        if case .record(let admitted) = item.origin, !hasSlot {
            hasSlot = parking.slots.beginRetrying(of: admitted.ticket?.player, bytes: admitted.byteCount)
        }
        let circumstances = ParkingPolicy.Circumstances(
            isParked: item.isParked, isAppleOut: parking.apple.isDown,
            hasRoom: hasSlot && leavesRoomForOthers && !keepsAllWaiting(judgement),
            answersOthers: parking.apple.answersOthers)
        if case .undecided(let trouble) = judgement, trouble.wasAsked, !circumstances.isAppleOut {
            history.noteFailureOfItsOwn()
        }
        switch parking.policy.step(after: judgement, history, circumstances, jitter: jitter, now: now) {
        case .tryAgain(let seconds):
            uncounted = (seconds, WallClock.monotonicSeconds, parking.apple.downSeconds)
            return .tryAgain(afterSeconds: seconds)
        case .park(let reason, let seconds):
            var plan = ParkingPlan(reason, after: judgement, history, dueAfterSeconds: seconds)
            if ParkingPolicy.countsAgainst(judgement, circumstances) { plan.history.noteParking() }
            plan.history.lookedUp = further.remembered
            return .park(plan)
        }
    }

    /// True if a submission that keeps failing must leave memory, because it and what waits behind it crowd out first
    /// tries. A passing fault does not make it leave: parking costs rows, and the order of its player's submissions.
    private var leavesRoomForOthers: Bool {
        history.failures < ParkingPolicy.failuresOfItsOwn || parking.slots.isWithinRetryShare
    }

    /// Returns whether all others would wait for an isolated record. A doubtful answer is asked for again much later,
    /// and an outage may last. One short wait after a failure keeps the order of its player's submissions.
    private func keepsAllWaiting(_ judgement: Judgement) -> Bool {
        guard case .record(let admitted) = item.origin, admitted.isIsolated else { return false }
        return switch judgement {
        case .doubtful: true
        case .undecided: history.failures > 1 || parking.apple.isDown
        case .blocked, .decided, .needs: false
        }
    }

    /// Counts the wait for the next try, for a turn in front of Apple and for its answer, whichever is over. Time in
    /// which Apple as a whole was down does not count.
    private func countWait() {
        guard let (seconds, since, before) = uncounted else { return }
        uncounted = nil
        let waited = max(seconds, WallClock.monotonicSeconds - since)
        history.noteWait(seconds: max(0, waited - (parking.apple.downSeconds - before)))
    }

    /// Ends the retries, because there is a verdict, recorded or not, or because the submission left memory. Call it at
    /// least once.
    func end() {
        guard hasSlot, case .record(let admitted) = item.origin else { return }
        hasSlot = false
        parking.slots.endRetrying(of: admitted.ticket?.player, bytes: admitted.byteCount)
    }
}
