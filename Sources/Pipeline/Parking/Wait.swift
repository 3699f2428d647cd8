import Fulfillment

/// One submission's waiting between tries, with the place that it holds while it retries in memory. One task's own.
final class Wait {
    private let desk: ParkingDesk?
    private let policy: ParkingPolicy
    private let parked: ParkedWork?
    private var holdsPlace = false
    /// The wait in memory that is under way or over and not counted yet.
    private var uncounted: (seconds: Double, since: Double, downSecondsBefore: Double)?
    private(set) var history: WaitingHistory
    /// Whether its last try counts against it, now that it is parked.
    private(set) var parksLonger = true

    /// - Parameter desk: nil where there is nowhere to wait but in memory.
    init(_ item: InFlightRecord, on desk: ParkingDesk?, retry: RetryDelay) {
        self.desk = desk
        policy = desk?.policy ?? ParkingPolicy(retry: retry)
        parked = item.parked
        history = item.parked?.leased.history ?? WaitingHistory()
    }

    /// How often the answer was given before. For one that is not due yet it never was often enough: its tries stand
    /// over `RETRY_DOUBT_SECONDS`, whoever else asks for its proof.
    func doubts(_ reason: Reason) -> Int {
        if let parked, !parked.leased.isDue { return 0 }
        return history.doubts[reason, default: 0]
    }

    func step(after judgement: Judgement, now: Timestamp) -> ParkingPolicy.Step {
        countWait()
        history.note(judgement, now: now)
        let jitter = Double.random(in: 0..<1)
        guard let desk else {
            return .tryAgain(
                afterSeconds: policy.delayInMemory(after: judgement, history, jitter: jitter, now: now))
        }
        if parked == nil, !holdsPlace { holdsPlace = desk.load.beginRetrying() }
        let circumstances = ParkingPolicy.Circumstances(
            isParked: parked != nil, isAppleOut: desk.apple.isDown, hasRoom: holdsPlace,
            answersOthers: desk.apple.answersOthers)
        if case .undecided(let trouble) = judgement, trouble.wasAsked, !circumstances.isAppleOut {
            history.noteFailureOfItsOwn()
        }
        parksLonger = ParkingPolicy.countsAgainst(judgement, circumstances)
        let step = policy.step(after: judgement, history, circumstances, jitter: jitter, now: now)
        if case .tryAgain(let seconds) = step {
            uncounted = (seconds, WallClock.monotonicSeconds, desk.apple.downSeconds)
        }
        return step
    }

    /// The wait for the next try, for a turn in front of Apple and for its answer, whichever is over. What Apple as a whole
    /// was out for is nobody's waiting.
    private func countWait() {
        guard let desk, let (seconds, since, before) = uncounted else { return }
        uncounted = nil
        let waited = max(seconds, WallClock.monotonicSeconds - since)
        history.noteWait(seconds: max(0, waited - (desk.apple.downSeconds - before)))
    }

    /// To be called once.
    func end() {
        if holdsPlace { desk?.load.endRetrying() }
    }
}
