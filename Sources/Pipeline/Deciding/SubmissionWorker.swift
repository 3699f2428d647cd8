import Fulfillment
import Kafka
import Logging
import Operations

/// One submission's whole life, from admission to the acknowledged event.
///
/// `work` returns when the outcome is durable and published, or throws `Abandoned` when the record is to come again.
public struct SubmissionWorker: Sendable {
    let catalog: @Sendable () -> Catalog?
    let parser: any ProofParser
    let verifier: any ReceiptVerifier
    let ledger: any PurchaseLedger
    let publisher: OutcomePublisher
    let lanes: PlayerLanes
    let retry: RetryDelay
    let metrics: PipelineMetrics
    let logger: Logger
    let shared = SharedAnswers()
    /// Nil: everything waits in memory.
    var parking: ParkingDesk?

    func work(on item: InFlightRecord) async throws(Abandoned) {
        switch item.decoded {
        case .deadLetter(let letter):
            try await bury(item, letter)
        case .submission(let submission):
            guard let catalog = catalog() else { throw Abandoned() }
            switch Screening.screen(submission, catalog: catalog, parser: parser, now: WallClock.now) {
            case .rejected(let reason, let proof):
                try await rejectLocally(reason, submission, proof, item)
            case .blocked(let blockage, let proof):
                noteBlocked(blockage, submission, proof, in: catalog)
                guard let parking else { return try await stayBlocked(item) }
                try await park(submission, proof, item, on: parking, blockedBy: blockage)
            case .admitted(let proof):
                CrashPoint.screened.reached()
                if let parking, item.isBeyondShare {
                    return try await park(submission, proof, item, on: parking, blockedBy: nil)
                }
                var clock = StageClock()
                try await waitForTurn(item)
                clock.mark(.turn, in: metrics)
                let events = try await decide(submission, proof, item, &clock)
                try await publish(events, of: item)
                clock.mark(.publish, in: metrics)
                CrashPoint.published.reached()
                ledger.published(events.map(\.eventID))
                CrashPoint.acknowledged.reached()
            }
        }
    }

    /// Touches no table, but where the record may have been answered before the catalog changed: its first answer holds.
    private func rejectLocally(
        _ reason: Reason, _ submission: Submission, _ proof: Digest256?, _ item: InFlightRecord
    ) async throws(Abandoned) {
        if item.mayBeRedelivered {
            let query = RecallQuery(
                position: item.position, proof: proof ?? item.position.content, mayBeRedelivered: true,
                isParked: item.parked != nil)
            let recalled = try await withLedger(item) { () async throws(LedgerClosed) in
                try await ledger.recollect(query)
            }
            if case .answered(let events) = recalled { return try await publish(events, of: item) }
            if case .parked = recalled { return }
        }
        let event = OutcomeEvent.rejectedLocally(reason, submission: submission, proof: proof, position: item.position)
        try await publish([event], of: item, isLocal: true)
    }

    /// recall → ask → judge → record, again and again until there is a verdict. Where the proof is enough, nobody is asked.
    ///
    /// Thousands are here at once, each for as long as Apple takes. What only computes is a function of its own that does
    /// not wait: its values take no room meanwhile.
    private func decide(
        _ submission: Submission, _ proof: ParsedProof, _ item: InFlightRecord, _ clock: inout StageClock
    ) async throws(Abandoned) -> [OutcomeEvent] {
        var remembered: GenuineReceipt?
        switch try await recall(submission, proof, item) {
        case .answered(let events): return events
        case .parked: return []
        case .provenBefore(let receipt): remembered = receipt
        case .nothing: break
        }
        clock.mark(.recall, in: metrics)
        CrashPoint.recalled.reached()
        let wait = Wait(item, on: parking, retry: retry)
        defer { wait.end() }
        while true {
            // The newest catalog: what was retired or added while we waited counts.
            guard let catalog = catalog() else { throw Abandoned() }
            guard let terms = AppTerms(of: submission.bundleID, in: catalog) else {
                // As if it came now: a record that is never finished would hold back its partition's offset for good.
                return rejected(.unknownApp, submission, proof, item)
            }
            let answer: AppleAnswer
            if let remembered {
                answer = .genuine(remembered)
            } else {
                let isRetry = wait.history.failures > 0 || item.parked != nil
                answer = await self.answer(to: proof, of: submission, terms, item, isRetry: isRetry)
            }
            CrashPoint.answered.reached()
            switch judge(answer, submission, proof, terms, item, wait) {
            case .decided(let ruling):
                CrashPoint.judged.reached()
                clock.mark(.ask, in: metrics)
                let decision = decision(
                    ruling, answer, submission, proof, terms, item, isRemembered: remembered != nil)
                let events = try await record(decision, of: item)
                clock.mark(.record, in: metrics)
                return events
            case let undecided:
                metrics.retries.increment()
                if try await isParked(after: undecided, submission, proof, item, wait) { return [] }
            }
        }
    }

    private func recall(
        _ submission: Submission, _ proof: ParsedProof, _ item: InFlightRecord
    ) async throws(Abandoned) -> Recollection {
        let query = recallQuery(submission, proof, item)
        let recalled = try await withLedger(item) { () async throws(LedgerClosed) in
            try await ledger.recollect(query)
        }
        if recalled != .nothing { metrics.recalled.increment() }
        return recalled
    }

    /// Waits for the next try in memory (false), or parks the submission.
    private func isParked(
        after undecided: Judgement, _ submission: Submission, _ proof: ParsedProof, _ item: InFlightRecord, _ wait: Wait
    ) async throws(Abandoned) -> Bool {
        switch wait.step(after: undecided, now: WallClock.now) {
        case .tryAgain(let seconds):
            try await item.waiting { try await Task.sleep(for: .seconds(seconds)) }
            return false
        case .park(let reason, let seconds):
            try await park(
                submission, proof, item, reason, undecided, wait.history, dueAfterSeconds: seconds,
                counts: wait.parksLonger)
            return true
        }
    }

    @inline(never)
    func rejected(
        _ reason: Reason, _ submission: Submission, _ proof: ParsedProof, _ item: InFlightRecord
    ) -> [OutcomeEvent] {
        [.rejectedLocally(reason, submission: submission, proof: proof.digest, position: item.position)]
    }

    @inline(never)
    private func recallQuery(_ submission: Submission, _ proof: ParsedProof, _ item: InFlightRecord) -> RecallQuery {
        RecallQuery(
            position: item.position, proof: proof.digest, mayBeRedelivered: item.mayBeRedelivered,
            isParked: item.parked != nil, evidence: proof.recallableEvidence,
            claimant: submission.appAccountToken == nil ? nil : submission.playerID)
    }

    @inline(never)
    private func judge(
        _ answer: AppleAnswer, _ submission: Submission, _ proof: ParsedProof, _ terms: AppTerms,
        _ item: InFlightRecord, _ wait: Wait
    ) -> Judgement {
        Judge(
            submission: submission, app: terms.app, recordTimestamp: item.position.timestamp, now: WallClock.now,
            signature: proof.signature
        ).judge(answer, doubts: wait.doubts)
    }

    /// What the proof says by itself where that is enough, else what Apple says of it.
    func answer(
        to proof: ParsedProof, of submission: Submission, _ terms: AppTerms, _ item: InFlightRecord, isRetry: Bool
    ) async -> AppleAnswer {
        if let evidence = proof.sufficientEvidence(for: terms.app, now: WallClock.now) { return .genuine(evidence) }
        let ask = question(proof, submission, terms, item, isRetry: isRetry)
        let triesBefore = item.triesNoted
        let answer = await item.sharedAnswer(ask)
        if item.triesNoted == triesBefore { item.note(AppleTry(at: WallClock.now, answer: answer)) }
        noteAnswer(answer, to: proof, submission.bundleID, item)
        return answer
    }

    /// Asks Apple, once for all who have the same question.
    @inline(never)
    private func question(
        _ proof: ParsedProof, _ submission: Submission, _ terms: AppTerms, _ item: InFlightRecord, isRetry: Bool
    ) -> @Sendable () async -> AppleAnswer {
        guard let question = proof.question(for: terms.app) else { return { .blocked(.noServerAPI) } }
        var request = VerificationRequest(bundleID: submission.bundleID, subject: question)
        request.playerID = submission.playerID
        request.isProven = proof.isProven(of: submission.bundleID)
        request.holdsAutoRenewable = proof.content?.holdsAutoRenewable ?? true
        request.isRetry = isRetry
        request.waiting = { [weak item] isWaiting in item?.note(isWaiting: isWaiting) }
        request.ended = { [weak item] latest in item?.note(latest) }
        let key = SharedAnswers.Key(proof: proof.digest, bundleID: submission.bundleID)
        return { [request, shared, verifier] in
            await shared.answer(
                for: key, waiting: { item.note(isWaiting: $0) }, ask: { await verifier.verify(request) })
        }
    }

    @inline(never)
    func decision(
        _ ruling: Ruling, _ answer: AppleAnswer, _ submission: Submission, _ proof: ParsedProof, _ terms: AppTerms,
        _ item: InFlightRecord, isRemembered: Bool
    ) -> PendingDecision {
        var receipt: GenuineReceipt?
        if case .genuine(let genuine) = answer { receipt = genuine }
        // A refused proof is not remembered: Apple may say otherwise tomorrow. New periods appear behind the same bytes
        // of a receipt that holds an auto-renewable subscription.
        var isMemorable = receipt?.holdsAutoRenewable == false && receipt?.purchases.isEmpty == false
        // The App Store Server API tells refunds: until its transaction stands in the ledger, it is asked anew.
        if case .transaction = proof.question(for: terms.app), !ruling.grantsAll { isMemorable = false }
        if let receipt, proof.recalls(receipt) { isMemorable = false }
        let tries = item.tries
        let trace = DecisionTrace(
            signature: proof.signature, source: isRemembered ? .ledger : tries.isEmpty ? .proof : .apple, tries: tries)
        return PendingDecision(
            submission: submission, position: item.position, proof: proof.digest, ruling: ruling,
            environment: receipt?.environment ?? .production, evidence: isMemorable ? receipt : nil,
            decidedAt: WallClock.now, catalogVersion: terms.catalogVersion, traceparent: item.traceparent,
            parkedID: item.parked?.id, risk: terms.app.risk, tokenUse: terms.app.accountTokenUse,
            trace: trace)
    }

    func record(_ decision: PendingDecision, of item: InFlightRecord) async throws(Abandoned) -> [OutcomeEvent] {
        switch try await withLedger(item, { () async throws(LedgerClosed) in try await ledger.settle(decision) }) {
        case .events(let events):
            CrashPoint.recorded.reached()
            return events
        case .parked:
            logger.error(
                "the database refuses this submission's data: it is parked",
                [
                    .submissionID: "\(decision.submission.submissionID)", .topic: "\(decision.position.topic)",
                    .partition: .stringConvertible(decision.position.partition),
                    .offset: .stringConvertible(decision.position.offset),
                ])
            return []
        }
    }

    private func bury(_ item: InFlightRecord, _ letter: DeadLetter) async throws(Abandoned) {
        try await publisher.publish(letter, of: item.record, position: item.position)
        metrics.deadLetter(letter.reason)
        guard let sender = letter.sender else { return }
        try await publish([.malformed(sender, position: item.position)], of: item, isLocal: true)
    }

    /// - Parameter isLocal: decided without asking anyone.
    func publish(
        _ events: [OutcomeEvent], of item: InFlightRecord, isLocal: Bool = false
    ) async throws(Abandoned) {
        guard !events.isEmpty else { return }
        try await publisher.publish(events, traceparent: item.traceparent)
        metrics.published(events, isLocal: isLocal, recordedAt: item.position.timestamp, now: WallClock.now)
    }

    private func waitForTurn(_ item: InFlightRecord) async throws(Abandoned) {
        guard let ticket = item.ticket else { return }
        try await item.waiting { await lanes.turn(ticket) }
    }

    /// Without a place to park, a proof that this app has no credentials for waits in memory until the operator mends it.
    private func stayBlocked(_ item: InFlightRecord) async throws(Abandoned) {
        while true {
            try await item.waiting { try await Task.sleep(for: .seconds(retry.maximumSeconds)) }
        }
    }

    /// What the ledger answers, after noting in which history of the database that stands.
    func withLedger<Value>(
        _ item: InFlightRecord, _ body: () async throws(LedgerClosed) -> Durable<Value>
    ) async throws(Abandoned) -> Value {
        do {
            let answer = try await body()
            if let history = answer.history { item.wasDecided(in: history) }
            return answer.value
        } catch {
            throw Abandoned()
        }
    }
}
