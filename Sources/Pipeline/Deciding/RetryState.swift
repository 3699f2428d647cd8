import Fulfillment
import NamesAndTimes

/// The retries of one submission, with its slot while it retries in memory. Only the submission's task uses the object.
final class RetryState {
    enum Next {
        case tryAgain(afterSeconds: Double)
        case park(ParkingPlan)
    }

    private let parking: ParkingContext
    private let item: SubmissionInHand
    private var hasSlot = false
    /// The present wait in memory, or an ended wait that is not counted yet; nil if there is none.
    private var uncounted: (seconds: Double, since: Double, downSecondsBefore: Double)?
    private(set) var history: WaitingHistory
    /// The further facts that the rules requested from Apple. A retry requests only the missing facts.
    var further: FurtherAnswers

    init(of item: SubmissionInHand, in parking: ParkingContext, now: Timestamp = WallClock.now) {
        self.parking = parking
        self.item = item
        switch item.origin {
        case .record:
            history = WaitingHistory()
            // The submission has already waited while its player's earlier submissions waited for Apple. This wait
            // counts against the time that the submission may stay in memory.
            history.noteWait(seconds: item.secondsBehindOthers)
        case .parked(let leased):
            history = leased.history
            history.lookUps = history.lookUps.valid(at: now)
        }
        further = FurtherAnswers(history.lookUps)
    }

    /// The time at which the worker first tried or parked the submission; nil before the first try ends.
    var takenAt: Timestamp? { history.firstFailureAt }

    /// True if an earlier try of the submission failed, or if it was parked.
    var isRetry: Bool { history.failures > 0 || item.isParked }

    var hasFailed: Bool { history.failures > 0 }

    /// Returns the number of earlier doubtful answers with this reason. Returns 0 for a parked submission that is not
    /// due yet: the worker leased it only because another submission with the same proof is due. Its tries must spread
    /// over `RETRY_DOUBT_SECONDS`, so this early answer does not count.
    func doubts(_ reason: Reason) -> Int {
        if let leased = item.parked, !leased.isDue { 0 } else { history.doubts[reason, default: 0] }
    }

    func next(after judgement: Judgement, now: Timestamp) -> Next {
        countWait()
        further.forgetPassing()
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
            plan.history.lookUps = further.remembered(since: history.lookUps.since ?? now)
            return .park(plan)
        }
    }

    /// True if the submission may stay in memory: it has failed rarely, or retries leave enough places for first tries.
    /// If the worker parked it, that would cost rows, and break the order of the player's submissions.
    private var leavesRoomForOthers: Bool {
        history.failures < ParkingPolicy.failuresOfItsOwn || parking.slots.isWithinRetryShare
    }

    /// Returns true if the submission is isolated and would make all others wait for long. A doubtful answer is checked
    /// much later, and an outage may last. One short wait after a failure is allowed, because it keeps the order of the
    /// player's submissions.
    private func keepsAllWaiting(_ judgement: Judgement) -> Bool {
        guard case .record(let admitted) = item.origin, admitted.isIsolated else { return false }
        return switch judgement {
        case .doubtful: true
        case .undecided: history.failures > 1 || parking.apple.isDown
        case .blocked, .decided, .needs: false
        }
    }

    /// Counts the time since the last try: the pause, the wait for a turn at Apple, and the wait for Apple's answer.
    /// Time during an outage of all of Apple does not count.
    private func countWait() {
        guard let (seconds, since, before) = uncounted else { return }
        uncounted = nil
        let waited = max(seconds, WallClock.monotonicSeconds - since)
        history.noteWait(seconds: max(0, waited - (parking.apple.downSeconds - before)))
    }

    /// Ends the retries and frees their slot, because there is a verdict or the submission left memory. Call it at
    /// least once.
    func end() {
        guard hasSlot, case .record(let admitted) = item.origin else { return }
        hasSlot = false
        parking.slots.endRetrying(of: admitted.ticket?.player, bytes: admitted.byteCount)
    }
}
