import Fulfillment
import Postgres

extension PostgresLedger {
    typealias Decisions = [GroupQueue<PendingDecision, Durable<RecordedOutcome>>.Entry]

    private enum Attempt: Sendable {
        case committed([[OutcomeEvent]], in: DatabaseHistory?)
        case undone(BatchTransaction.Undone)
        case failed(PostgresError)
    }

    /// A writer's life.
    func write(as given: WriterNumber) async {
        var writer = given
        let minimum = writer.current == 0 ? 1 : max(1, limits.backlog)
        while let entries = await decisions.next(
            minimum: minimum, maximum: limits.maximumBatch, bytes: limits.maximumBatchBytes)
        {
            await settle(entries, as: &writer)
            await gather(after: entries.count)
        }
    }

    /// Returns when every entry has its answer, or the ledger is closed. Tries for as long as that takes.
    /// - Parameter isStuck: they were put aside before.
    func settle(_ entries: Decisions, as writer: inout WriterNumber, isStuck: Bool = false) async {
        var waiting = entries
        var lookUp = BatchTransaction.LookUp.underOldClaims
        var backoff = Backoff()
        while !waiting.isEmpty {
            let batch = DecisionBatch(waiting.map(\.request))
            switch await attempt(batch, lookUp: lookUp, writer: writer.current, isStuck: isStuck) {
            case .committed(let events, let history):
                for (entry, slot) in zip(waiting, batch.slots) {
                    entry.answer(Durable(.events(events[slot]), in: history))
                }
                return
            case .undone(.unknownGrant):
                observer.trouble(.unknownGrant)
                if lookUp == .everything { await backoff.wait() }
                lookUp = .everything
            case .undone(.decidedBefore):
                // A COMMIT of ours whose answer was lost comes here too.
                let count = waiting.count
                waiting = await answerDecided(waiting)
                observer.trouble(.decidedBefore(records: count - waiting.count))
                if waiting.count == count { await backoff.wait() }
            case .failed(let error) where error.kind == .data:
                if waiting.count > 1 {
                    let middle = waiting.count / 2
                    await settle(Array(waiting[..<middle]), as: &writer, isStuck: isStuck)
                    await settle(Array(waiting[middle...]), as: &writer, isStuck: isStuck)
                    return
                }
                waiting = await park(waiting, for: error)
                if !waiting.isEmpty { await backoff.wait() }
            case .failed(let error) where error.isStuck:
                note(error)
                writer.change()
                if isStuck, waiting.count > 1 {
                    // Most of them wait for nobody.
                    let middle = waiting.count / 2
                    await settle(Array(waiting[..<middle]), as: &writer, isStuck: true)
                    return await settle(Array(waiting[middle...]), as: &writer, isStuck: true)
                }
                if isStuck { await backoff.wait() }
                return stuck.add(waiting)
            case .failed(let error):
                note(error)
                await backoff.wait()
            }
            if decisions.isClosed {
                for entry in waiting { entry.fail() }
                return
            }
        }
    }

    private func attempt(
        _ batch: DecisionBatch, lookUp: BatchTransaction.LookUp, writer: Int32, isStuck: Bool
    ) async -> Attempt {
        var transaction = BatchTransaction(
            batch: batch, lookUp: lookUp, acknowledged: isStuck ? [] : acknowledged.take(), writer: writer)
        if isStuck { transaction.lockMilliseconds = Self.stuckLockMilliseconds }
        let start = ContinuousClock.now
        do {
            let written = try await pool.run { [transaction] in try transaction.run(in: $0) }
            noteSuccess()
            for player in written.replaying { observer.replaying(player) }
            observer.batchCommitted(batch.decisions.count, (ContinuousClock.now - start).inSeconds)
            return .committed(written.events, in: written.history)
        } catch {
            let isStuck = (error as? PostgresError)?.isStuck ?? false
            (isStuck ? stuckAcknowledged : acknowledged).giveBack(transaction.acknowledged)
            if let undone = error as? BatchTransaction.Undone { return .undone(undone) }
            if let planted = error as? BatchTransaction.Unwritten { return .committed(planted.events, in: nil) }
            return .failed(PostgresError(caught: error))
        }
    }

    /// Answers those that have an outcome already with that one; returns the rest.
    private func answerDecided(_ entries: Decisions) async -> Decisions {
        let keys = entries.map { OutcomeKey($0.request.position) }
        let parked = entries.map(\.request.parkedID)
        let known: RecallOutcomes.Answers
        do {
            known = try await pool.run { session in
                let known = try RecallOutcomes.run(keys, in: session)
                // Their answers are durable: nothing waits for one any more.
                try DeleteParked.run(known.events.keys.compactMap { parked[$0] }, in: session)
                return known
            }
        } catch {
            note(PostgresError(caught: error))
            return entries
        }
        var rest: Decisions = []
        for (index, entry) in entries.enumerated() {
            if let events = known.events[index] {
                entry.answer(Durable(.events(events), in: known.history))
            } else {
                rest.append(entry)
            }
        }
        return rest
    }

    /// Returns those that could not be parked either: all of them, or none.
    private func park(_ entries: Decisions, for error: PostgresError) async -> Decisions {
        let refused = entries.map(\.request)
        let history: DatabaseHistory?
        do {
            history = try await pool.run { session in
                var history: DatabaseHistory?
                for decision in refused {
                    history = try ParkRefused.run(
                        decision.submission, decision.position, proof: decision.proof,
                        traceparent: decision.traceparent, for: error, in: session)
                }
                return history
            }
        } catch {
            note(PostgresError(caught: error))
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
