import Fulfillment
import Logging
import NamesAndTimes
import Operations

/// Checks whether Apple agrees with local refusals. For a few receipts, the worker sends a request to Apple after the
/// rejection is published.
extension SubmissionWorker {
    /// Checks a refusal in a task of its own. The rejection stands, and the commit of the record's offset does not wait
    /// for the check.
    func checkLater(_ submission: Submission, of item: SubmissionInHand, after refusal: Refusal) {
        // A suspect's refusal is not checked. The check's task would set whether the suspect is at work, and only the
        // suspect's own task may do so.
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
            "receiptd refused a receipt that Apple calls genuine: set the app's local_refusals to `ask`",
            screened.item.traced([
                .submissionID: "\(screened.submission.submissionID)", .bundleID: "\(screened.submission.bundleID)",
                .reason: "\(reason.rawValue)",
            ]))
        // If the second decision is abandoned, there is no second check.
        try? await decideAgain(screened, by: answer)
    }

    /// Decides the submission again, from Apple's answer. Publishes a grant or a hold, but no rejection, because the
    /// first decision already published a rejection.
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
