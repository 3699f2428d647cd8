import Fulfillment
import PlantedFaults
import Postgres
import Synchronization

extension PostgresLedger {
    /// The most entries of one writer while some of them fail.
    private var mostWhileIsolating: Int { 4 * limits.maximumBatch }
    /// The pause between two looks at the queue while failing entries wait for their next try.
    private static let isolationPause = Duration.milliseconds(50)

    /// Settles the entries, however long it takes. Returns when every entry has its answer, or when the ledger is
    /// closed. While parts of a failed batch wait, the writer takes new entries too, so that no new entry waits for an
    /// entry that keeps failing.
    /// - Parameter isStuck: true if the entries were set aside before, because of a hanging session or a lock.
    func settle(_ entries: Decisions, as writer: inout WriterNumber, isStuck: Bool = false) async {
        let queue = isStuck ? stuck : decisions
        var isolation = Isolation(entries)
        while true {
            failVoid(in: &isolation)
            if isolation.isEmpty { return }
            if let group = isolation.next(now: .now) {
                await settle(group, as: &writer, isStuck: isStuck, in: &isolation)
            } else {
                await pause(until: isolation.readyAt, isIsolating: isolation.isIsolating)
            }
            if decisions.isClosed {
                for entry in isolation.all { entry.fail() }
                return
            }
            if isolation.isIsolating, isolation.count < mostWhileIsolating,
                let new = queue.take(maximum: limits.maximumBatch, bytes: limits.maximumBatchBytes)
            {
                isolation.add(new)
            }
        }
    }

    /// Fails the entries whose submissions the worker took before the database last fell back. The worker reads their
    /// records again and decides them in order. If such an entry waited here instead until the losses are known, it
    /// would be decided before earlier records.
    private func failVoid(in isolation: inout Isolation<Decisions.Element>) {
        let count = fallBacks.count
        for entry in isolation.takeOut(where: { $0.request.fallBackCount != count }) { entry.fail() }
    }

    private func pause(until instant: ContinuousClock.Instant?, isIsolating: Bool) async {
        let rest = max(.zero, (instant ?? .now) - .now)
        try? await Task.sleep(for: isIsolating ? min(rest, Self.isolationPause) : rest)
    }

    /// Tries a group once. Then answers, reschedules or parks its entries, or sets them aside.
    private func settle(
        _ given: Isolation<Decisions.Element>.Group, as writer: inout WriterNumber, isStuck: Bool,
        in isolation: inout Isolation<Decisions.Element>
    ) async {
        var group = given
        let entries = group.entries
        let batch = DecisionBatch(entries.map(\.request))
        func failed(by cause: FailureCause) async {
            let commits = commits.load(ordering: .relaxed)
            guard isolation.failed(group, by: cause, commits: commits, now: .now) == .setAside else { return }
            if await !park(entries, for: cause.asError).isEmpty { isolation.add(entries) }
        }
        switch await attempt(batch, lookUp: group.lookUp, writer: writer.current, isStuck: isStuck) {
        case .committed(let events, let history):
            for (entry, slot) in zip(entries, batch.slots) {
                entry.answer(Durable(.events(events[slot]), in: history))
            }
        case .undone(.unknownGrant):
            observer.trouble(.unknownGrant)
            guard group.lookUp != .everything else { return await failed(by: .unknownGrant) }
            group.lookUp = .everything
            isolation.reschedule(group, keeping: entries)
        case .undone(.conflict):
            observer.trouble(.conflict)
            isolation.reschedule(group, keeping: entries)
        case .undone(.decidedBefore):
            // This also happens if this process missed the answer to its own COMMIT.
            let rest: Decisions
            do {
                rest = try await answerDecided(entries)
            } catch {
                note(error, of: .decisions)
                return await failed(by: FailureCause(error))
            }
            observer.trouble(.decidedBefore(records: entries.count - rest.count))
            if rest.count == entries.count { return await failed(by: .decidedBefore) }
            isolation.reschedule(group, keeping: rest)
        case .failed(let error) where error.kind == .data:
            if entries.count > 1 {
                isolation.halve(group)
            } else if await !park(entries, for: error).isEmpty {
                await failed(by: FailureCause(error))
            }
        case .failed(let error) where error.isStuck && !isStuck:
            note(error, of: .decisions)
            writer.change()
            if PlantedFault.hungBatchDropped.isPlanted { return }
            stuck.add(entries)
        case .failed(let error):
            note(error, of: .decisions)
            if error.isStuck { writer.change() }
            await failed(by: FailureCause(error))
        }
    }
}
