import Fulfillment
import Logging
import NamesAndTimes
import Operations

/// The steps that use the ledger: recall and record.
extension SubmissionWorker {
    func recall(_ screened: ScreenedSubmission) async throws(Abandoned) -> Recollection {
        let query = recallQuery(screened)
        let recalled = try await withLedger(screened.item) { () async throws(LedgerClosed) in
            try await ledger.recollect(query)
        }
        if recalled != .nothing { metrics.recalled.increment() }
        return recalled
    }

    @inline(never)
    private func recallQuery(_ screened: ScreenedSubmission) -> RecallQuery {
        let (item, submission, proof) = (screened.item, screened.submission, screened.proof)
        return RecallQuery(
            position: item.position, proof: proof.digest, mayBeRedelivered: item.mayBeRedelivered,
            isParked: item.isParked, evidence: proof.recallableEvidence,
            claimant: submission.appAccountToken == nil ? nil : submission.playerID)
    }

    /// Records the verdict, and returns its events once they are durable. If the submission's Kafka record was decided
    /// before, returns that decision's events. If PostgreSQL refuses the data, returns no events, and the submission is
    /// parked.
    func record(
        _ verdict: Verdict, on screened: ScreenedSubmission, by answer: ProofAnswer
    ) async throws(Abandoned) -> [OutcomeEvent] {
        let decision = decision(verdict, on: screened, by: answer)
        if Suspected.work != nil { decision.rehearse() }
        let settled = try await withLedger(screened.item) { () async throws(LedgerClosed) in
            try await ledger.settle(decision)
        }
        switch settled {
        case .events(let events):
            CrashPoint.recorded.reached()
            return events
        case .parked:
            logger.error(
                "PostgreSQL refuses this submission's data: the worker parks the submission",
                screened.item.traced([
                    .submissionID: "\(decision.submission.submissionID)", .topic: "\(decision.position.topic)",
                    .partition: .stringConvertible(decision.position.partition),
                    .offset: .stringConvertible(decision.position.offset),
                ]))
            return []
        }
    }

    /// Returns the decision to record.
    /// - Parameter isSecond: true if a local refusal of the submission was published before. Then the decision stores
    ///   no evidence, because screening would refuse the same bytes again before the worker looks in the ledger.
    @inline(never)
    func decision(
        _ verdict: Verdict, on screened: ScreenedSubmission, by answer: ProofAnswer, isSecond: Bool = false
    ) -> PendingDecision {
        let (item, terms) = (screened.item, answer.terms)
        let tries = item.tries
        let trace = DecisionTrace(
            signature: screened.proof.signature,
            source: answer.isRemembered ? .ledger : tries.isEmpty && !isSecond ? .proof : .apple,
            tries: tries)
        let now = WallClock.now
        return PendingDecision(
            submission: screened.submission, position: isSecond ? item.position.ofSecondDecision : item.position,
            proof: screened.proof.digest, verdict: verdict, environment: answer.environment(of: screened.proof),
            evidence: isSecond
                ? nil
                : answer.receipt.flatMap { screened.proof.rememberedEvidence($0, after: verdict, of: terms.app) },
            decidedAt: now, catalogVersion: terms.catalogVersion, traceparent: item.traceparent,
            parkedID: item.parked?.id, risk: terms.app.risk, tokenUse: terms.app.accountTokenUse,
            finishesGrants: terms.app.announcements.finishesGrants,
            subscriptions: ToldSubscriptions(
                answer.receipt, besides: answer.subscriptions, submitted: screened.proof.receipt, under: terms.app,
                now: now),
            undeliveredTerms: UndeliveredTerms(of: screened, under: terms.app), trace: trace,
            isSecond: isSecond, isDecidedAgain: item.isDecidedAgain, fallBackCount: item.fallBackCount,
            shown: answer.revocations(besides: verdict), cause: answer.foreignness, repair: screened.proof.repair)
    }

    /// Returns the ledger's answer, and notes the history of its database in the item. Throws `Abandoned` if the ledger
    /// is closed.
    func withLedger<Value>(
        _ item: SubmissionInHand, _ body: () async throws(LedgerClosed) -> Durable<Value>
    ) async throws(Abandoned) -> Value {
        do {
            let answer = try await Suspected.waiting(body)
            if let history = answer.history { item.wasDecided(in: history) }
            return answer.value
        } catch {
            throw Abandoned()
        }
    }
}

extension Recollection {
    /// The events of the record's earlier decision. Empty if the submission waits in PostgreSQL; nil if the record is
    /// not decided.
    var eventsBefore: [OutcomeEvent]? {
        switch self {
        case .answered(let events): events
        case .parked: []
        case .provenBefore, .nothing: nil
        }
    }

    /// Evidence of the ledger that replaces Apple's answer. Nil if the worker must send a request to Apple, or if there
    /// is nothing to decide.
    var answer: AppleAnswer? {
        @inline(never) get {
            if case .provenBefore(let receipt) = self { .genuine(receipt) } else { nil }
        }
    }
}

extension UndeliveredTerms {
    init(of screened: ScreenedSubmission, under app: AppPolicy) {
        let isReceipt = if case .receipt = screened.proof.material { true } else { false }
        self.init(
            provesPossession: isReceipt || screened.proof.isProven(of: screened.submission.bundleID),
            cutover: app.cutover)
    }
}
