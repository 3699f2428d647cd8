import Fulfillment
import NamesAndTimes
import Operations

/// Ends holds: requests a held purchase from Apple again, judges it, and settles it. Without a verdict the purchase
/// stays held. Apple called the purchase genuine before, so after a doubtful answer the worker tries again later. Only
/// the doubtful answer "expired subscription" ends the hold, after several tries.
///
/// `work` returns once the event is published, or once the hold waits durably for its next try. It throws `Abandoned`
/// if the database will return the hold again.
struct HeldPurchaseWorker: Sendable {
    let catalog: @Sendable () -> Catalog
    let desk: AppleDesk
    let holds: any HeldPurchases
    let publication: EventPublication

    /// Takes these steps: screen, request from Apple, judge, settle, publish.
    func work(on item: HeldInHand) async throws(Abandoned) {
        let (hold, catalog) = (item.hold, catalog())
        guard let terms = catalog.terms[hold.submission.bundleID] else { return await waitForApp(hold) }
        switch screen(hold, under: catalog) {
        case .admitted(let proof): try await decide(item, proof, askedUnder: terms)
        case .rejected(let refusal, _):
            try await settle(
                HoldDecision(
                    hold, verdict: .whole(refusal.reason, []), environment: .production, decidedAt: WallClock.now,
                    catalogVersion: catalog.version, cause: refusal.cause))
        case .blocked: await waitWithoutVerdict(hold)
        }
    }

    private func screen(_ hold: LeasedHold, under catalog: Catalog) -> Screening {
        if hold.announced != nil {
            // Apple announced the purchase and nobody submitted it, so there is no proof to screen.
            return .admitted(
                ParsedProof(
                    digest: Digest256(hashing: Array(hold.transactionID.text.utf8)),
                    material: .transactionID(hold.transactionID), signature: .proven))
        }
        let screening = desk.screen(hold.submission, under: catalog)
        // Apple called the receipt genuine before. So receiptd's own reading of the receipt does not end the hold.
        guard case .rejected(let refusal, _) = screening,
            let doubted = Screening.disputable(hold.submission, refusedFor: refusal.reason)
        else { return screening }
        return .admitted(doubted)
    }

    private func decide(
        _ item: HeldInHand, _ proof: ParsedProof, askedUnder terms: AppTerms
    ) async throws(Abandoned) {
        let (hold, inquiry) = (item.hold, item.inquiry(proof))
        let told: AppleAnswer
        if hold.announced != nil, terms.app.serverAPI == nil, let evidence = hold.evidence {
            told = .genuine(evidence)
        } else {
            told = await desk.answer(to: inquiry, terms, isRetry: hold.tries > 0)
        }
        // The answer of a cancelled try does not count.
        if Task.isCancelled { throw Abandoned() }
        // The catalog may have changed during the request.
        guard let terms = catalog().terms[hold.submission.bundleID] else { return await waitForApp(hold) }
        CrashPoint.answered.reached()
        let answer = ProofAnswer(answer: told, isRemembered: false, terms: terms)
        var further = FurtherAnswers()
        let judgement = try await desk.judge(inquiry, under: terms, &further) { further in
            judge(hold, proof, by: answer, besides: further)
        }
        guard case .decided(let verdict) = judgement else { return await waitWithoutVerdict(hold) }
        CrashPoint.judged.reached()
        try await settle(decision(verdict, on: hold, proof, by: answer.besides(further)))
    }

    private func judge(
        _ hold: LeasedHold, _ proof: ParsedProof, by answer: ProofAnswer, besides further: FurtherAnswers
    ) -> Judgement {
        Judge(
            submission: hold.submission, under: answer.terms, recordTimestamp: hold.position.timestamp,
            takenAt: hold.heldAt, now: WallClock.now, signature: proof.signature, signed: proof.content,
            held: hold.transactionID, waived: hold.waived, announced: hold.announced,
            isDecidedAgain: hold.isDecidedAgain
        ).judge(
            answer.answer, besides: further,
            // A hold has no count of doubtful answers. The only doubtful answer that may end a hold is an expired
            // subscription. Its count is the number of the hold's tries.
            doubts: { $0 == .subscriptionExpired ? hold.tries : 0 })
    }

    private func decision(
        _ verdict: Verdict, on hold: LeasedHold, _ proof: ParsedProof, by answer: ProofAnswer
    ) -> HoldDecision {
        let now = WallClock.now
        return HoldDecision(
            hold, verdict: verdict, environment: answer.environment(of: proof), decidedAt: now,
            catalogVersion: answer.terms.catalogVersion, tokenUse: answer.terms.app.accountTokenUse,
            finishesGrants: answer.terms.app.announcements.finishesGrants,
            subscriptions: ToldSubscriptions(
                answer.receipt, besides: answer.subscriptions, submitted: hold.submission.receipt,
                under: answer.terms.app, now: now),
            shown: answer.revocations(besides: verdict), cause: answer.foreignness, repair: proof.repair)
    }

    /// Settles the hold, and publishes its event unless the purchase stays held. If the database refuses the result,
    /// the worker tries the hold again later.
    private func settle(_ decision: HoldDecision) async throws(Abandoned) {
        let event: OutcomeEvent?
        do {
            if Suspected.work != nil { decision.rehearse() }
            event = try await Suspected.waiting { try await holds.settle(decision) }
        } catch {
            return await failed(decision.hold, error)
        }
        CrashPoint.recorded.reached()
        guard let event else { return }
        try await publication.publish(
            [TracedEvent(event: event, traceparent: decision.hold.traceparent)], then: .published)
        CrashPoint.acknowledged.reached()
    }

    private func waitWithoutVerdict(_ hold: LeasedHold) async {
        desk.metrics.retries.increment()
        await reschedule(hold, afterSeconds: retrySeconds(of: hold))
    }

    /// Returns the seconds until the hold's next try. The delay grows with the hold's tries, as a submission's delay
    /// grows with its failures.
    private func retrySeconds(of hold: LeasedHold) -> Double {
        let retry = desk.parking.policy.retry
        let delay = retry.afterTrouble(failures: hold.tries + 1, jitter: Double.random(in: 0..<1))
        return max(PipelineLimits.holdRetrySeconds, delay)
    }

    /// Sets a later due time for a hold whose app is not in the catalog. The app may come back, so the worker does not
    /// reject a released hold.
    private func waitForApp(_ hold: LeasedHold) async {
        await reschedule(hold, afterSeconds: PipelineLimits.unknownAppRetrySeconds)
    }

    private func reschedule(_ hold: LeasedHold, afterSeconds seconds: Double) async {
        do {
            try await Suspected.waiting { try await holds.reschedule(hold, dueAfterSeconds: seconds) }
        } catch { await failed(hold, error) }
    }

    private func failed(_ hold: LeasedHold, _ error: any Error) async {
        desk.metrics.failures.report(error, of: .holds)
        // Does nothing if the lease is over. If PostgreSQL cannot be reached, the lease ends by itself.
        try? await holds.reschedule(hold, dueAfterSeconds: retrySeconds(of: hold))
    }
}
