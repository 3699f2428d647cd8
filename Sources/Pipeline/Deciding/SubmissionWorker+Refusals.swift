import Fulfillment
import Logging
import NamesAndTimes
import Operations

/// Checks whether Apple agrees with local refusals. The worker puts a few receipts to Apple after their answer is
/// published.
extension SubmissionWorker {
    /// Checks a refusal in a task of its own. The record keeps its answer, and the commit of its offset does not wait.
    func checkLater(_ submission: Submission, of item: SubmissionInHand, after refusal: Refusal) {
        // A suspect is not checked: only its own task may say whether it is at work.
        guard Suspected.work == nil, !item.isParked, refusals.isDue, !refusal.cause.isOfEnvelope,
            let doubted = Screening.disputable(submission, refusedFor: refusal.reason)
        else { return }
        let screened = ScreenedSubmission(item: item, submission: submission, proof: doubted)
        refusals.begin(for: submission.playerID) { [self] in await check(screened, refusedFor: refusal.reason) }
    }

    private func check(_ screened: ScreenedSubmission, refusedFor reason: Reason) async {
        guard let terms = catalog().terms[screened.submission.bundleID] else { return }
        let told = await desk.answer(to: screened.inquiry, terms, isRetry: true)
        let answer = ProofAnswer(answer: told, isRemembered: false, terms: terms)
        guard let receipt = answer.receipt, receipt.bundleID == screened.submission.bundleID else { return }
        metrics.all.localRefusalsDisputed.with(reason.rawValue).increment()
        metrics.all.incidents.note(.localRefusalDisputed, of: reason.rawValue)
        logger.error(
            "Apple calls a receipt genuine that receiptd refused: set the app's local_refusals to `ask`",
            screened.item.traced([
                .submissionID: "\(screened.submission.submissionID)", .bundleID: "\(screened.submission.bundleID)",
                .reason: "\(reason.rawValue)",
            ]))
        // If the second decision is given up, the check is lost.
        try? await decideAgain(screened, by: answer)
    }

    /// Decides the submission again, by Apple's answer. A grant or a hold is published. A rejection is left out,
    /// because the first decision published one.
    private func decideAgain(_ screened: ScreenedSubmission, by answer: ProofAnswer) async throws(Abandoned) {
        let retries = RetryState(of: screened.item, in: parking)
        defer { retries.end() }
        guard case .decided(let verdict) = try await judge(screened, by: answer, retries) else { return }
        let decision = decision(verdict, on: screened, by: answer.besides(retries.further), isSecond: true)
        let settled: Durable<RecordedOutcome>
        do { settled = try await ledger.settle(decision) } catch { throw Abandoned() }
        guard case .events(let all) = settled.value else { return }
        CrashPoint.recorded.reached()
        let events = all.filter(decision.publishes)
        guard !events.isEmpty else { return }
        try await publisher.publish(events, traceparent: screened.item.traceparent)
        ledger.published(events.map(\.eventID))
        for event in events { metrics.published(event) }
    }
}
