import Fulfillment
import Kafka
import Logging
import Operations

extension SubmissionWorker {
    /// Asks Apple again about a held transaction and judges it under the newest catalog, but for what operators let pass.
    /// Ends when its event is published, or it waits on.
    func revisit(_ work: HeldWork, of holds: any HeldPurchases) async throws {
        let hold = work.hold
        guard var catalog = catalog() else { return try await holds.endLease(of: hold) }
        let item = InFlightRecord(hold)
        let verdict: Verdict
        var environment = StoreEnvironment.production
        var tokenUse = AccountTokenUse.none
        switch Screening.screen(hold.submission, catalog: catalog, parser: parser, now: WallClock.now) {
        case .rejected(.unknownApp, _):
            // The app may come back: what was released for it is not refused meanwhile.
            return try await holds.reschedule(hold, dueAfterSeconds: PipelineLimits.unknownAppRetrySeconds)
        case .rejected(let reason, _):
            verdict = .whole(reason, [])
        case .blocked:
            return try await reschedule(hold, in: holds)
        case .admitted(let proof):
            guard let asking = AppTerms(of: hold.submission.bundleID, in: catalog) else {
                return try await holds.endLease(of: hold)
            }
            let isRetry = hold.tries > 0
            let answer = await work.answer.value {
                await self.answer(to: proof, of: hold.submission, asking, item, isRetry: isRetry)
            }
            // What a cancelled try brought is no judgement.
            if Task.isCancelled { return try await holds.endLease(of: hold) }
            catalog = self.catalog() ?? catalog
            guard let app = catalog.apps[hold.submission.bundleID] else {
                return try await holds.reschedule(hold, dueAfterSeconds: PipelineLimits.unknownAppRetrySeconds)
            }
            let judge = Judge(
                submission: hold.submission, app: app, recordTimestamp: hold.position.timestamp, now: WallClock.now,
                signature: proof.signature, waived: hold.waived)
            // Apple called it genuine once: an answer that it may take back is only asked for again.
            guard case .decided(let decided) = judge.judge(answer, doubts: { _ in 0 }) else {
                return try await reschedule(hold, in: holds)
            }
            verdict = decided
            tokenUse = app.accountTokenUse
            if case .genuine(let receipt) = answer { environment = receipt.environment }
        }
        let decision = HoldDecision(
            hold, verdict: verdict, environment: environment, decidedAt: WallClock.now, catalogVersion: catalog.version,
            tokenUse: tokenUse)
        guard let event = try await holds.settle(decision) else { return }
        try await publisher.publish(event, traceparent: hold.traceparent)
        metrics.published(event)
        ledger.published([event.eventID])
    }

    private func reschedule(_ hold: LeasedHold, in holds: any HeldPurchases) async throws {
        metrics.retries.increment()
        let seconds = retry.afterTrouble(failures: hold.tries + 1, jitter: Double.random(in: 0..<1))
        try await holds.reschedule(hold, dueAfterSeconds: max(PipelineLimits.holdRetrySeconds, seconds))
    }
}

extension InFlightRecord {
    /// A held transaction: it moves no offset and waits for no turn.
    convenience init(_ hold: LeasedHold) {
        self.init(
            record: ConsumerRecord(
                topicPartition: TopicPartition(topic: hold.position.topic, partition: hold.position.partition),
                offset: hold.position.offset, timestampMilliseconds: hold.position.timestamp.milliseconds),
            position: hold.position, decoded: .submission(hold.submission), ticket: nil, assignment: 0,
            mayBeRedelivered: false)
    }
}
