import Fulfillment
import Kafka
import Logging
import NamesAndTimes
import Operations

/// One submission's life, from admission or lease to the acknowledged event.
///
/// `work` returns when the outcome is durable and published, or when it waits durably for its next try; it throws
/// `Abandoned` when it is to come again. A class, for each submission's task holds it.
public final class SubmissionWorker: Sendable {
    let catalog: @Sendable () -> Catalog
    let verification: PipelineVerification
    let ledger: any PurchaseLedger
    let holds: any HeldPurchases
    let subscriptions: any FollowedSubscriptions
    let publisher: OutcomePublisher
    let lanes: PlayerLanes
    let parking: ParkingContext
    let refusals: LocalRefusalChecks
    let metrics: PipelineMetrics
    let logger: Logger
    let shared = SharedAnswers()
    let traffic: TrafficWatch

    init(
        catalog: @escaping @Sendable () -> Catalog, verification: PipelineVerification, ledger: any PurchaseLedger,
        holds: any HeldPurchases, subscriptions: any FollowedSubscriptions, publisher: OutcomePublisher,
        lanes: PlayerLanes, parking: ParkingContext, refusals: LocalRefusalChecks, metrics: PipelineMetrics,
        logger: Logger
    ) {
        self.catalog = catalog
        self.verification = verification
        self.ledger = ledger
        self.holds = holds
        self.subscriptions = subscriptions
        self.publisher = publisher
        self.lanes = lanes
        self.parking = parking
        self.refusals = refusals
        self.metrics = metrics
        self.logger = logger
        traffic = TrafficWatch(metrics: metrics.all, logger: logger)
    }

    /// The steps: screen, wait for the turn, decide (`recall`, then `answer` and `judge` until there is a verdict, then
    /// `record`), publish, acknowledge. What screening does not admit leaves early.
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
        switch item.decoded {
        case .deadLetter(let letter): return .leavesEarly(EarlyExit(.deadLetter(letter)))
        case .submission(let read): submission = read
        }
        let catalog = catalog()
        if case .held(let hold) = item.origin, hold.announced != nil {
            return .admitted(ScreenedSubmission(announced: hold, item))
        }
        let now = WallClock.now
        switch Screening.screen(submission, catalog: catalog, parser: verification.parser, now: now) {
        case .admitted(let proof):
            CrashPoint.screened.reached()
            if proof.signature == .proven, let signedAt = proof.content?.signedAt {
                metrics.all.signedClock.took(signedAt: signedAt.milliseconds, now: now.milliseconds)
            }
            if let repair = proof.repair { metrics.all.proofsRepaired.with(repair.code).increment() }
            return .admitted(ScreenedSubmission(item: item, submission: submission, proof: proof))
        case .rejected(let refusal, let proof):
            // The receipt was called genuine once: our reading of it does not end its wait.
            if item.isHeld, let doubted = Screening.disputable(submission, refusedFor: refusal.reason) {
                return .admitted(ScreenedSubmission(item: item, submission: submission, proof: doubted))
            }
            return .leavesEarly(EarlyExit(.rejected(submission, refusal, proof: proof, under: catalog)))
        case .blocked(let blockage, let proof):
            let screened = ScreenedSubmission(item: item, submission: submission, proof: proof)
            return .leavesEarly(EarlyExit(.blocked(blockage, screened, under: catalog)))
        }
    }

    private func carryOut(_ screened: ScreenedSubmission) async throws(Abandoned) {
        let item = screened.item
        if item.isBeyondShare || item.isSetAside { return try await parkUntried(screened, blockedBy: nil) }
        var clock = StageClock(of: item, in: metrics)
        if let ticket = item.ticket, !lanes.isFirst(ticket) { try await waitForTurn(ticket, of: item) }
        clock.mark(.turn)
        let (events, origin) = try await decide(screened, &clock)
        try await publishRecorded(events, of: item, origin)
        clock.mark(.publish)
    }

    private func waitForTurn(_ ticket: PlayerLanes.Ticket, of item: SubmissionInHand) async throws(Abandoned) {
        parking.slots.waitingBehindOthers(of: ticket.player, bytes: item.byteCount)
        defer { parking.slots.endedWaitingBehindOthers(of: ticket.player, bytes: item.byteCount) }
        let (start, before) = (secondsForApple, lanes.secondsAtApple(ticket))
        try await item.waiting { await lanes.turn(ticket) }
        // The earlier ones' waits for PostgreSQL are no waits for Apple.
        item.noteBehindOthers(seconds: max(0, min(secondsForApple - start, lanes.secondsAtApple(ticket) - before)))
    }

    /// A clock that stands still while Apple as a whole is out.
    private var secondsForApple: Double { WallClock.monotonicSeconds - parking.apple.downSeconds }

    /// Notes that submissions behind this one waited for Apple with it.
    private func noteAtApple(_ item: SubmissionInHand, since start: Double) {
        if let ticket = item.ticket { lanes.noteAtApple(ticket, seconds: max(0, secondsForApple - start)) }
    }

    /// Returns the events to publish; none where it waits durably. Where the proof is enough, nobody is asked.
    ///
    /// Thousands are here at once, each for as long as Apple takes. What only computes is a function of its own that does
    /// not wait: its values take no room meanwhile.
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
            guard let answer = try await proofAnswer(to: screened, recalled, retries) else {
                return (await answerForUnknownApp(screened), .decided)
            }
            CrashPoint.answered.reached()
            switch try await judge(screened, by: answer, retries) {
            case .decided(let verdict):
                CrashPoint.judged.reached()
                // Recording may take long, and is no retry.
                retries.end()
                noteAtApple(screened.item, since: start)
                if retries.hasFailed, !screened.item.isHeld { parking.recovery.answered(screened.submission.bundleID) }
                clock.mark(.ask)
                let events = try await record(verdict, on: screened, by: answer.besides(retries.further))
                clock.mark(.record)
                return (events, .decided)
            case let undecided:
                metrics.retries.increment()
                if try await !isTriedAgain(screened, after: undecided, retries, since: start) { return ([], .decided) }
            }
        }
    }

    @inline(never)
    private func beginTries(_ screened: ScreenedSubmission, after recalled: Recollection) -> RetryState {
        let retries = RetryState(of: screened.item, in: parking)
        // Nothing of it is granted anew.
        if case .provenBefore(let receipt) = recalled {
            retries.further.settle(receipt.purchases.lazy.map(\.transactionID))
        }
        return retries
    }

    /// Nil where the catalog does not have the app any more.
    private func proofAnswer(
        to screened: ScreenedSubmission, _ recalled: Recollection, _ retries: RetryState
    ) async throws(Abandoned) -> ProofAnswer? {
        // The newest catalog: what was retired or added while we waited counts.
        guard let terms = catalog().terms[screened.submission.bundleID] else { return nil }
        if let remembered = recalled.answer { return ProofAnswer(answer: remembered, isRemembered: true, terms: terms) }
        let told = await answer(to: screened, terms, isRetry: retries.isRetry)
        return try termsToJudgeBy(screened).map {
            ProofAnswer(answer: told, isRemembered: false, terms: $0)
        }
    }

    /// Judges by the newest catalog: the one that Apple was asked under may be old when the answer comes, in an outage
    /// by hours. Nil where that no longer has the app.
    @inline(never)
    private func termsToJudgeBy(_ screened: ScreenedSubmission) throws(Abandoned) -> AppTerms? {
        // The answer of a cancelled try of a hold is no judgement.
        if screened.item.isHeld, Task.isCancelled { throw Abandoned() }
        return catalog().terms[screened.submission.bundleID]
    }

    /// Judges, and asks what the rules need to know beside the answer: for few submissions.
    @inline(never)
    func judge(
        _ screened: ScreenedSubmission, by answer: ProofAnswer, _ retries: RetryState
    ) async throws(Abandoned) -> Judgement {
        while true {
            let judgement = judgeNow(screened, by: answer, retries)
            guard case .needs(let question) = judgement else { return judgement }
            if let unanswered = try await ask(question, about: screened, answer.terms, retries) { return unanswered }
        }
    }

    @inline(never)
    private func judgeNow(
        _ screened: ScreenedSubmission, by answer: ProofAnswer, _ retries: RetryState
    ) -> Judgement {
        var waived: Set<Reason> = []
        var announced: AnnouncedTerms?
        if case .held(let hold) = screened.item.origin { (waived, announced) = (hold.waived, hold.announced) }
        return Judge(
            submission: screened.submission, under: answer.terms,
            recordTimestamp: screened.item.position.timestamp, takenAt: retries.takenAt, now: WallClock.now,
            signature: screened.proof.signature, signed: screened.proof.content, wasGenuine: screened.item.isHeld,
            waived: waived, announced: announced, isDecidedAgain: screened.item.isDecidedAgain
        ).judge(answer.answer, besides: retries.further, doubts: retries.doubts)
    }

    /// After a try without a verdict: true once the wait in memory is over, false where it waits durably.
    private func isTriedAgain(
        _ screened: ScreenedSubmission, after undecided: Judgement, _ retries: RetryState, since start: Double
    ) async throws(Abandoned) -> Bool {
        if screened.item.isHeld {
            await reschedule(heldBy: screened.item)
            return false
        }
        switch retries.next(after: undecided, now: WallClock.now) {
        case .tryAgain(let seconds):
            try await screened.item.waiting { try await Task.sleep(for: .seconds(seconds)) }
            return true
        case .park(let plan):
            noteAtApple(screened.item, since: start)
            try await park(screened, plan)
            return false
        }
    }

    /// The app has left the catalog since the submission was screened. It is answered as if it came now: a record that is
    /// never finished would hold back its partition's offset for good. A hold stays.
    @inline(never)
    private func answerForUnknownApp(_ screened: ScreenedSubmission) async -> [OutcomeEvent] {
        if screened.item.isHeld {
            await reschedule(heldBy: screened.item, afterSeconds: PipelineLimits.unknownAppRetrySeconds)
            return []
        }
        return rejected(screened, for: .unknownApp)
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
