import Fulfillment
import NamesAndTimes
import Operations

/// Leases due rows from one table and tries them, beside all other work of the process.
struct DueWorkLoop<Work: DueWork>: LeasingLoop {
    private let work: Work
    private let leases: LeaseGate?
    private let isAppleDown: @Sendable () -> Bool
    let health: Health
    let state = LeasingState()

    var part: Health.Part { work.part }
    var failingPart: FailingPart { work.failingPart }
    var isWellOnceLeased: Bool { work.isWellOnceLeased }
    private var slots: WorkSlots? { work.places.slots }

    /// - Parameters:
    ///   - leases: the loop leases rows only while this gate is open. Nil for work that does not depend on decisions
    ///     that the database may have lost.
    ///   - isAppleDown: returns whether Apple is down. While it is down, the loop tries one row at a time, to see
    ///     whether Apple is back.
    init(
        _ work: Work, health: Health, behind leases: LeaseGate? = nil,
        isAppleDown: @escaping @Sendable () -> Bool = { false }
    ) {
        self.work = work
        self.leases = leases
        self.health = health
        self.isAppleDown = isAppleDown
    }

    func turn(_ group: inout DiscardingTaskGroup) async -> Double? {
        // Health does not watch the loop during the query, because a slow database is not the loop's fault.
        health.retire(part)
        guard leases?.isOpen ?? true else { return work.lookSeconds }
        switch await work.nextTurn() {
        case .nothing: return work.lookSeconds
        case .isolated(let item):
            await isolate(item, &group)
            return work.lookSeconds
        case .due: break
        }
        var room = work.places.room(beside: state.underWay)
        if isAppleDown() { room = min(room, 1 - state.underWay) }
        guard room > 0 else { return DueWorkLimits.busySeconds }
        let batch = await leaseDue(limit: room)
        for items in batch.groups {
            group.addTask { for item in items { await tryOnce(item) } }
        }
        return batch.isFull ? nil : work.lookSeconds
    }

    private func leaseDue(limit: Int) async -> DueBatch<Work.Item> {
        guard slots?.beginLeasing() ?? true else { return DueBatch() }
        defer { slots?.endLeasing() }
        let batch = await lease { try await work.leaseDue(limit: limit) } ?? DueBatch()
        slots?.leasesBegan(batch.count)
        state.began(batch.count)
        return batch
    }

    /// Tries the row while this process has leased no other parked or held row. Returns when the try is over, or after
    /// `isolatedSeconds`. After that time other rows may be leased. So from then on the worker stores no further
    /// accusation, which would make a death count against the row.
    private func isolate(_ item: Work.Item, _ group: inout DiscardingTaskGroup) async {
        state.began(1)
        let (over, end) = AsyncStream<Never>.makeStream()
        let deadline = WallClock.monotonicSeconds + PipelineLimits.isolatedSeconds
        let accusation = Accusation { [work] isAtWork in
            if isAtWork, WallClock.monotonicSeconds >= deadline { return true }
            return (try? await work.accuse(item, isAtWork: isAtWork)) != nil
        }
        let timer = Task {
            try? await Task.sleep(for: .seconds(PipelineLimits.isolatedSeconds))
            end.finish()
        }
        group.addTask {
            await Suspected.$work.withValue(accusation) { await tryOnce(item) }
            // The accusation ends even if the database refused the result: the row is still leased, and has not killed
            // this worker.
            await accusation.waits()
            timer.cancel()
        }
        for await _ in over {}
        slots?.endIsolating()
    }

    private func tryOnce(_ item: Work.Item) async {
        defer {
            slots?.leaseEnded()
            state.ended()
        }
        do {
            do {
                if Task.isCancelled { throw Abandoned() }
                try await tryWithinItsTime(item)
            } catch is Abandoned {
                try await Suspected.waiting {
                    if Task.isCancelled { try await work.release(item) } else { try await work.putOff(item) }
                }
            }
        } catch {
            // The row is due again when its lease ends.
            health.failures.report(error, of: failingPart)
        }
    }

    private func tryWithinItsTime(_ item: Work.Item) async throws {
        guard let seconds = work.trySeconds else { return try await work.work(on: item) }
        try await withThrowingTaskGroup(of: Bool.self) { tasks in
            tasks.addTask {
                try await work.work(on: item)
                return true
            }
            tasks.addTask {
                try? await Task.sleep(for: .seconds(seconds))
                return false
            }
            let hasEnded = try await tasks.next() ?? true
            tasks.cancelAll()
            // A cancelled try keeps its place until it ends, so the loop waits for it.
            if !hasEnded { _ = try await tasks.next() }
        }
    }
}
