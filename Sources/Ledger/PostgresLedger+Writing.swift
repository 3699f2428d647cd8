import Fulfillment
import Postgres
import Synchronization

extension PostgresLedger {
    typealias Decisions = [GroupQueue<PendingDecision, Durable<RecordedOutcome>>.Entry]

    enum Attempt: Sendable {
        case committed([[OutcomeEvent]], in: DatabaseHistory?)
        case undone(DecisionBatchWrite.Undone)
        case failed(PostgresError)
    }

    /// Settles decisions until the queue is closed.
    func write(as given: WriterNumber) async {
        var writer = given
        var gathering = gathering()
        let minimum = writer.current == 0 ? 1 : max(1, limits.backlog)
        while let entries = await decisions.next(
            minimum: minimum, maximum: limits.maximumBatch, bytes: limits.maximumBatchBytes)
        {
            await settle(entries, as: &writer)
            await gather(&gathering, after: entries.count)
        }
    }

    func attempt(
        _ batch: DecisionBatch, lookUp: DecisionBatchWrite.LookUp, writer: Int32, isStuck: Bool
    ) async -> Attempt {
        let fallBackCount = fallBacks.count
        guard fallBacks.isOpen else { return .failed(FallBackWatch.error) }
        var write = DecisionBatchWrite(
            batch: batch, lookUp: lookUp, acknowledged: isStuck ? [] : acknowledged.take(), writer: writer)
        if isStuck { write.lockMilliseconds = Self.stuckLockMilliseconds }
        write.looksForConflicts = conflicts.areLikely()
        let start = ContinuousClock.now
        do {
            let written = try await deciding.run { [write, fallBacks] session in
                // The database may have fallen back while the job waited for a session.
                guard fallBacks.count == fallBackCount else { throw FallBackWatch.error }
                return try write.run(in: session, fallBacks)
            }
            if let last = batch.decisions.last {
                fallBacks.committed(.outcome(OutcomeKey(last.position)), in: written.history)
            }
            noteSuccess(of: .decisions)
            commits.add(1, ordering: .relaxed)
            for player in written.replaying { observer.replaying(player) }
            for bundleID in written.constantTokens { observer.constantToken(bundleID) }
            for dispute in written.disputedTokens { observer.disputedToken(dispute) }
            observer.batchCommitted(batch.decisions.count, (ContinuousClock.now - start).inSeconds)
            return .committed(written.events, in: written.history)
        } catch {
            let isStuck = (error as? PostgresError)?.isStuck ?? false
            (isStuck ? stuckAcknowledged : acknowledged).restore(write.acknowledged)
            if let fall = error as? FallBackWatch.FellBack {
                fallBacks.fellBack(fall)
                return .failed(FallBackWatch.error)
            }
            if let undone = error as? DecisionBatchWrite.Undone {
                if undone == .conflict { conflicts.met() }
                return .undone(undone)
            }
            #if DEBUG
                if let planted = error as? DecisionBatchWrite.Unwritten { return .committed(planted.events, in: nil) }
            #endif
            return .failed(PostgresError(caught: error))
        }
    }

    /// Answers the entries whose records have an outcome. If somebody deleted the outcome's grants, parks the entry
    /// instead. Returns the entries without an outcome, and the entries that could not be parked.
    func answerDecided(_ entries: Decisions) async throws(PostgresError) -> Decisions {
        let keys = entries.map { OutcomeKey($0.request.position) }
        let parked = entries.map(\.request.parkedID)
        let known: FindOutcomes.Answers
        do {
            known = try await pool.run { session in
                let known = try FindOutcomes.run(keys, in: session)
                // These records' events are durable, so their submissions need no parked row any more.
                try DeleteParked.run(known.events.keys.compactMap { parked[$0] }, in: session)
                return known
            }
        } catch {
            throw PostgresError(caught: error)
        }
        var rest: Decisions = []
        var unanswerable: Decisions = []
        for (index, entry) in entries.enumerated() {
            if let events = known.events[index] {
                entry.answer(Durable(.events(events), in: known.history))
            } else if known.withoutGrants.contains(index) {
                unanswerable.append(entry)
            } else {
                rest.append(entry)
            }
        }
        // Somebody deleted the grants of these outcomes. The ledger neither grants again nor gives another answer: an
        // operator decides.
        return unanswerable.isEmpty ? rest : rest + (await park(unanswerable, for: FailureCause.decidedBefore.asError))
    }

    /// Parks the entries for an operator, and answers them. Returns the entries that could not be parked, which are all
    /// or none.
    func park(_ entries: Decisions, for error: PostgresError) async -> Decisions {
        let refused = entries.map(\.request)
        let history: DatabaseHistory?
        do {
            history = try await deciding.run { session in
                var history: DatabaseHistory?
                for decision in refused {
                    history = try InsertRefused.run(
                        decision.submission, decision.position, proof: decision.proof,
                        traceparent: decision.traceparent, for: error, in: session)
                }
                return history
            }
        } catch {
            note(PostgresError(caught: error), of: .decisions)
            return entries
        }
        observer.parked(error)
        for entry in entries { entry.answer(Durable(.parked, in: history)) }
        return []
    }
}

extension Duration {
    var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) * 1e-18
    }
}
