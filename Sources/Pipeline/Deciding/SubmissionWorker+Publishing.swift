import Fulfillment
import Kafka
import NamesAndTimes

/// Publishes outcomes, as the last step or for an early exit.
extension SubmissionWorker {
    /// Publishes events that belong to no submission in hand.
    var publication: EventPublication { EventPublication(publisher: publisher, ledger: ledger, metrics: metrics) }

    /// Publishes events that the database has. Deletes their outbox rows when Kafka has acknowledged them.
    @inline(never)
    func publishRecorded(
        _ events: [OutcomeEvent], of item: SubmissionInHand, _ origin: AnswerOrigin = .decided
    ) async throws(Abandoned) {
        try await publish(events, of: item, origin)
        CrashPoint.published.reached()
        ledger.published(events.map(\.eventID))
        CrashPoint.acknowledged.reached()
    }

    func publish(
        _ events: [OutcomeEvent], of item: SubmissionInHand, _ origin: AnswerOrigin
    ) async throws(Abandoned) {
        guard !events.isEmpty else { return }
        try await publisher.publish(events, traceparent: item.traceparent)
        metrics.published(events, origin, recordedAt: item.position.timestamp, now: WallClock.now)
    }

    /// Rejects a submission without a write to the database. If the record was decided before, perhaps under an older
    /// catalog, publishes the events of that decision instead.
    func rejectLocally(
        _ submission: Submission, for refusal: Refusal, proof: Digest256?, _ item: SubmissionInHand
    ) async throws(Abandoned) {
        if try await isAnsweredAgain(item, proof ?? item.position.content) { return }
        let event = OutcomeEvent.rejectedLocally(refusal, submission: submission, proof: proof, position: item.position)
        try await publish([event], of: item, .local)
        traffic.refused(submission, for: refusal, by: event)
    }

    /// If the record was decided before, publishes the events of that decision again, and returns true. Also returns
    /// true if the record's submission waits in PostgreSQL.
    func isAnsweredAgain(_ item: SubmissionInHand, _ proof: Digest256) async throws(Abandoned) -> Bool {
        guard item.mayBeRedelivered else { return false }
        let query = RecallQuery(
            position: item.position, proof: proof, mayBeRedelivered: true, isParked: item.isParked)
        let recalled = try await withLedger(item) { () async throws(LedgerClosed) in
            try await ledger.recollect(query)
        }
        guard let events = recalled.eventsBefore else { return false }
        try await publishRecorded(events, of: item, .recalled)
        return true
    }

    func publishDeadLetter(
        _ letter: DeadLetter, of record: ConsumerRecord, _ item: SubmissionInHand
    ) async throws(Abandoned) {
        try await publisher.publish(letter, of: record, position: item.position, evenIfCancelled: true)
        metrics.deadLetter(letter.reason)
        traffic.buried(letter, key: record.key, at: item.position)
        guard let sender = letter.sender else { return }
        let event = OutcomeEvent.malformed(sender, letter.cause, position: item.position)
        try await publish([event], of: item, .local)
        traffic.answered(sender, letter.cause, by: event)
    }
}
