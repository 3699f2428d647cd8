import Fulfillment
import NamesAndTimes
import Operations

/// Leases what is due from one table and tries it, beside everything else that the process does.
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
    ///   - leases: nothing is leased while it is closed; nil for work that needs nothing that the database may have lost.
    ///   - isAppleDown: returns whether Apple is down. Then one row at a time finds out when it is back.
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
        // The database's time is not this loop's doing.
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

    /// Returns when the row's try is over, or has lasted as long as its lease. Others may be leased beside it then, and
    /// no death counts against it any more.
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
            // Even where the database refused its end: the item is leased still, and has killed nobody.
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
            // The lease ends by itself.
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
            // Past its time the try itself is to end too: its place is not free before.
            if !hasEnded { _ = try await tasks.next() }
        }
    }
}
