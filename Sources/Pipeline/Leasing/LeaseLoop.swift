import Clocks
import Fulfillment
import Operations

/// Leases submissions that are due from one source and hands them to the worker, beside the fresh ones and with a smaller
/// share of the slots. All loops share that: what frees thousands at once asks Apple no more than that.
struct LeaseLoop: LeasingLoop {
    private let source: any LeaseSource
    private let worker: SubmissionWorker
    let health: Health
    let state = LeasingState()

    var part: Health.Part { source.part }
    var failingPart: FailingPart { source.failingPart }
    private var slots: WorkSlots { worker.parking.slots }

    init(_ source: any LeaseSource, worker: SubmissionWorker, health: Health) {
        self.source = source
        self.worker = worker
        self.health = health
    }

    func turn(_ group: inout DiscardingTaskGroup) async -> Double? {
        var leased = LeasedBatch()
        // How long the database takes is not this loop's doing.
        health.retire(part)
        switch await source.nextTurn() {
        case .nothing: break
        case .due: leased = await leaseDue()
        case .isolated(let item): await isolate(item, &group)
        }
        for items in leased.groups {
            group.addTask { for item in items { await work(on: item) } }
        }
        return leased.isFull ? nil : PipelineLimits.leaseSeconds
    }

    private func leaseDue() async -> LeasedBatch {
        // While Apple is out, one at a time finds out when it is back.
        let limit = min(slots.roomForLeases, worker.parking.apple.isDown ? 1 : source.batch)
        guard limit > 0, slots.beginLeasing() else { return LeasedBatch() }
        defer { slots.endLeasing() }
        let leased = await lease { try await source.leaseDue(limit: limit) } ?? LeasedBatch()
        slots.leasesBegan(leased.count)
        state.began(leased.count)
        return leased
    }

    /// Returns when its try is over, or has lasted as long as its lease: then others may be leased beside it, and nothing counts
    /// against it any more.
    private func isolate(_ item: SubmissionInHand, _ group: inout DiscardingTaskGroup) async {
        state.began(1)
        let (over, end) = AsyncStream<Never>.makeStream()
        let deadline = WallClock.monotonicSeconds + PipelineLimits.isolatedSeconds
        let accusation = Accusation { [source] isAtWork in
            if isAtWork, WallClock.monotonicSeconds >= deadline { return true }
            return (try? await source.accuse(item, isAtWork: isAtWork)) != nil
        }
        let timer = Task {
            try? await Task.sleep(for: .seconds(PipelineLimits.isolatedSeconds))
            end.finish()
        }
        group.addTask {
            await Suspected.$work.withValue(accusation) { await work(on: item) }
            // Also where the database did not take its end: it is leased still, and has killed nobody.
            await accusation.waits()
            timer.cancel()
        }
        for await _ in over {}
        slots.endIsolating()
    }

    private func work(on item: SubmissionInHand) async {
        defer {
            slots.leaseEnded()
            state.ended()
        }
        CrashPoint.passed(item.decoded)
        do {
            do {
                if Task.isCancelled { throw Abandoned() }
                try await worker.work(on: item)
            } catch is Abandoned {
                return try await Suspected.waiting { try await source.release(item) }
            }
            try await Suspected.waiting { try await source.end(item) }
        } catch {
            // Its lease is left to end.
            health.failures.report(error, of: failingPart)
        }
    }
}
