import Fulfillment
import Kafka
import Logging
import NamesAndTimes
import Operations

/// Takes one submission through all steps, from admission or lease to the acknowledged events.
///
/// `work` returns once the outcome is durable and published, or once the submission waits durably for its next try. It
/// throws `Abandoned` if Kafka or the database will deliver the submission again. A class, because each submission's
/// task refers to it.
public final class SubmissionWorker: Sendable {
    let catalog: @Sendable () -> Catalog
    let desk: AppleDesk
    let ledger: any PurchaseLedger
    let publisher: OutcomePublisher
    let lanes: PlayerLanes
    let parking: ParkingContext
    let refusals: LocalRefusalChecks
    let metrics: PipelineMetrics
    let logger: Logger
    let traffic: TrafficWatch

    init(
        catalog: @escaping @Sendable () -> Catalog, desk: AppleDesk, ledger: any PurchaseLedger,
        publisher: OutcomePublisher, lanes: PlayerLanes, refusals: LocalRefusalChecks
    ) {
        (self.catalog, self.desk, self.ledger) = (catalog, desk, ledger)
        (self.publisher, self.lanes, self.refusals) = (publisher, lanes, refusals)
        (parking, metrics, logger) = (desk.parking, desk.metrics, desk.logger)
        traffic = TrafficWatch(metrics: metrics.all, logger: logger)
    }

    /// Takes these steps: screen, wait for the turn, decide (`recall`, then `answer` and `judge` until there is a
    /// verdict, then `record`), publish, acknowledge. A submission that screening does not admit exits early.
    func work(on item: SubmissionInHand) async throws(Abandoned) {
        switch screen(item) {
        case .admitted(let screened): try await carryOut(screened)
        case .leavesEarly(let exit): try await leave(item, by: exit)
        }
    }

    private enum Screened {
        case admitted(ScreenedSubmission)
        case leavesEarly(EarlyExit)
    }

    @inline(never)
    private func screen(_ item: SubmissionInHand) -> Screened {
        let submission: Submission
        switch item.origin {
        case .parked(let leased): submission = leased.submission
        case .record(let admitted):
            switch admitted.decoded {
            case .deadLetter(let letter): return .leavesEarly(.deadLetter(letter, of: admitted.record))
            case .submission(let read): submission = read
            }
        }
        switch desk.screen(submission, under: catalog()) {
        case .admitted(let proof):
            CrashPoint.screened.reached()
            return .admitted(ScreenedSubmission(item: item, submission: submission, proof: proof))
        case .rejected(let refusal, let proof):
            return .leavesEarly(.rejected(submission, refusal, proof: proof))
        case .blocked(let blockage, let proof):
            let screened = ScreenedSubmission(item: item, submission: submission, proof: proof)
            return .leavesEarly(.blocked(blockage, screened))
        }
    }

    private func carryOut(_ screened: ScreenedSubmission) async throws(Abandoned) {
        let item = screened.item
        var clock = StageClock(metrics)
        if case .record(let admitted) = item.origin {
            guard let ticket = admitted.ticket, !admitted.isSetAside else {
                return try await parkUntried(screened, blockedBy: nil)
            }
            if !lanes.isFirst(ticket) { try await waitForTurn(ticket, bytes: admitted.byteCount, of: item) }
            // The predecessor may have been abandoned, which made this submission the first in its lane. If this
            // submission is abandoned too, its work ends here.
            try item.work.checkAbandonment()
        }
        clock.mark(.turn)
        let (events, origin) = try await decide(screened, &clock)
        try await publishRecorded(events, of: item, origin)
        clock.mark(.publish)
    }

    private func waitForTurn(
        _ ticket: PlayerLanes.Ticket, bytes: Int, of item: SubmissionInHand
    ) async throws(Abandoned) {
        parking.slots.waitingBehindOthers(of: ticket.player, bytes: bytes)
        defer { parking.slots.endedWaitingBehindOthers(of: ticket.player, bytes: bytes) }
        let (start, before) = (secondsForApple, lanes.secondsAtApple(ticket))
        try await item.work.waiting { await lanes.turn(ticket) }
        // Only the time that earlier submissions waited for Apple counts, not their waits for PostgreSQL.
        item.noteBehindOthers(seconds: max(0, min(secondsForApple - start, lanes.secondsAtApple(ticket) - before)))
    }

    /// The seconds on a clock that stops during an outage of all of Apple.
    private var secondsForApple: Double { WallClock.monotonicSeconds - parking.apple.downSeconds }

    /// Adds to the player's lane the seconds that this submission waited for Apple. The player's later submissions
    /// waited too.
    private func noteAtApple(_ item: SubmissionInHand, since start: Double) {
        if let ticket = item.ticket { lanes.noteAtApple(ticket, seconds: max(0, secondsForApple - start)) }
    }

    /// Decides the submission. Returns the events to publish; none if the submission waits durably. Sends no request to
    /// Apple if the proof is enough.
    ///
    /// Thousands of submissions wait in this function, each for as long as Apple takes. So the work before and after
    /// the wait is in other functions, whose values take no memory during the wait.
    private func decide(
        _ screened: ScreenedSubmission, _ clock: inout StageClock
    ) async throws(Abandoned) -> ([OutcomeEvent], AnswerOrigin) {
        let recalled = try await recall(screened)
        if let events = recalled.eventsBefore { return (events, .recalled) }
        clock.mark(.recall)
        CrashPoint.recalled.reached()
        let retries = beginTries(screened, after: recalled)
        defer { retries.end() }
        let start = secondsForApple
        while true {
            guard let answer = await proofAnswer(to: screened, recalled, retries) else {
                // The newest catalog lacks the app, so the worker rejects the submission as if it came now. If the
                // submission waited instead, its partition's offset could not move.
                return (rejected(screened, for: .unknownApp), .decided)
            }
            CrashPoint.answered.reached()
            if let events = try await conclude(screened, by: answer, retries, since: start, &clock) {
                return (events, .decided)
            }
        }
    }

    /// Records the verdict and returns its events. Without a verdict, parks the submission and returns no events, or
    /// waits for the next try and returns nil.
    @inline(never)
    private func conclude(
        _ screened: ScreenedSubmission, by answer: ProofAnswer, _ retries: RetryState, since start: Double,
        _ clock: inout StageClock
    ) async throws(Abandoned) -> [OutcomeEvent]? {
        switch try await judge(screened, by: answer, retries) {
        case .decided(let verdict):
            CrashPoint.judged.reached()
            // The slot is freed now, because recording may take long and is no retry.
            retries.end()
            noteAtApple(screened.item, since: start)
            if retries.hasFailed { parking.recovery.answered(screened.submission.bundleID) }
            clock.mark(.ask)
            let events = try await record(verdict, on: screened, by: answer.besides(retries.further))
            clock.mark(.record)
            return events
        case let undecided:
            metrics.retries.increment()
            return try await isTriedAgain(screened, after: undecided, retries, since: start) ? nil : []
        }
    }

    @inline(never)
    private func beginTries(_ screened: ScreenedSubmission, after recalled: Recollection) -> RetryState {
        let retries = RetryState(of: screened.item, in: parking)
        // The ledger already has these purchases, so the rules need no facts about them from Apple.
        if case .provenBefore(let receipt) = recalled {
            retries.further.noteInLedger(receipt.purchases.lazy.map(\.transactionID))
        }
        return retries
    }

    /// Returns the answer with the newest catalog's terms, because after an outage the catalog of the request may be
    /// hours old. Returns nil if the newest catalog no longer has the app.
    private func proofAnswer(
        to screened: ScreenedSubmission, _ recalled: Recollection, _ retries: RetryState
    ) async -> ProofAnswer? {
        guard let terms = newestTerms(of: screened) else { return nil }
        if let remembered = recalled.answer { return ProofAnswer(answer: remembered, isRemembered: true, terms: terms) }
        let told = await desk.answer(to: screened.inquiry, terms, isRetry: retries.isRetry)
        return newestTerms(of: screened).map { ProofAnswer(answer: told, isRemembered: false, terms: $0) }
    }

    @inline(never)
    private func newestTerms(of screened: ScreenedSubmission) -> AppTerms? {
        catalog().terms[screened.submission.bundleID]
    }

    @inline(never)
    func judge(
        _ screened: ScreenedSubmission, by answer: ProofAnswer, _ retries: RetryState
    ) async throws(Abandoned) -> Judgement {
        try await desk.judge(screened.inquiry, under: answer.terms, &retries.further) { further in
            judgeNow(screened, by: answer, besides: further, retries)
        }
    }

    @inline(never)
    private func judgeNow(
        _ screened: ScreenedSubmission, by answer: ProofAnswer, besides further: FurtherAnswers, _ retries: RetryState
    ) -> Judgement {
        Judge(
            submission: screened.submission, under: answer.terms,
            recordTimestamp: screened.item.position.timestamp, takenAt: retries.takenAt, now: WallClock.now,
            signature: screened.proof.signature, signed: screened.proof.content,
            isDecidedAgain: screened.item.isDecidedAgain
        ).judge(answer.answer, besides: further, doubts: retries.doubts)
    }

    /// Waits for the next try, or parks the submission. Returns true after a wait in memory, and false after parking.
    private func isTriedAgain(
        _ screened: ScreenedSubmission, after undecided: Judgement, _ retries: RetryState, since start: Double
    ) async throws(Abandoned) -> Bool {
        switch retries.next(after: undecided, now: WallClock.now) {
        case .tryAgain(let seconds):
            try await screened.item.work.waiting { try await Task.sleep(for: .seconds(seconds)) }
            return true
        case .park(let plan):
            noteAtApple(screened.item, since: start)
            try await park(screened, plan)
            return false
        }
    }

    @inline(never)
    func rejected(_ screened: ScreenedSubmission, for reason: Reason) -> [OutcomeEvent] {
        [
            .rejectedLocally(
                Refusal(reason), submission: screened.submission, proof: screened.proof.digest,
                position: screened.item.position)
        ]
    }
}
