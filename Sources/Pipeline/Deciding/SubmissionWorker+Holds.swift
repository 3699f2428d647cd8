import Fulfillment
import NamesAndTimes
import Operations

/// Ends a hold's try: settled, or held on. A result that the database does not take is tried again later.
extension SubmissionWorker {
    /// Rejected by the newest catalog before anyone is asked.
    func endHold(
        _ hold: LeasedHold, by refusal: Refusal, _ item: SubmissionInHand, catalogVersion: Int64
    ) async throws(Abandoned) {
        // The app may come back: what was released for it is not refused meanwhile.
        if refusal.reason == .unknownApp {
            return await reschedule(hold, afterSeconds: PipelineLimits.unknownAppRetrySeconds)
        }
        let decision = HoldDecision(
            hold, verdict: .whole(refusal.reason, []), environment: .production, decidedAt: WallClock.now,
            catalogVersion: catalogVersion, cause: refusal.cause)
        try await publishRecorded(settle(decision), of: item)
    }

    /// The event, none where it stays held.
    @inline(never)
    func settle(
        _ verdict: Verdict, holding screened: ScreenedSubmission, by answer: ProofAnswer
    ) async -> [OutcomeEvent] {
        guard case .held(let hold) = screened.item.origin else { return [] }
        let now = WallClock.now
        return await settle(
            HoldDecision(
                hold, verdict: verdict, environment: answer.environment(of: screened), decidedAt: now,
                catalogVersion: answer.terms.catalogVersion, tokenUse: answer.terms.app.accountTokenUse,
                finishesGrants: answer.terms.app.announcements.finishesGrants,
                subscriptions: ToldSubscriptions(
                    answer.receipt, besides: answer.subscriptions, submitted: hold.submission.receipt,
                    under: answer.terms.app, now: now),
                shown: answer.revocations(besides: verdict), cause: answer.foreignness, repair: screened.proof.repair))
    }

    private func settle(_ decision: HoldDecision) async -> [OutcomeEvent] {
        do {
            if Suspected.work != nil { decision.rehearse() }
            let event = try await Suspected.waiting { try await holds.settle(decision) }
            CrashPoint.recorded.reached()
            return event.map { [$0] } ?? []
        } catch {
            await failed(decision.hold, error)
            return []
        }
    }

    /// No verdict ends a hold. Apple called it genuine once: an answer that it may take back is only asked for again.
    /// - Parameter seconds: nil: as the tries so far ask for.
    @inline(never)
    func reschedule(heldBy item: SubmissionInHand, afterSeconds seconds: Double? = nil) async {
        guard case .held(let hold) = item.origin else { return }
        let delay = parking.policy.retry.afterTrouble(failures: hold.tries + 1, jitter: Double.random(in: 0..<1))
        await reschedule(hold, afterSeconds: seconds ?? max(PipelineLimits.holdRetrySeconds, delay))
    }

    private func reschedule(_ hold: LeasedHold, afterSeconds seconds: Double) async {
        do {
            try await Suspected.waiting { try await holds.reschedule(hold, dueAfterSeconds: seconds) }
        } catch { await failed(hold, error) }
    }

    private func failed(_ hold: LeasedHold, _ error: any Error) async {
        metrics.failures.report(error, of: .holds)
        // Nothing where its lease is over, or the database away: then the lease ends by itself.
        try? await holds.reschedule(hold, dueAfterSeconds: PipelineLimits.holdFailureSeconds)
    }
}
