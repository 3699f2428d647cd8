import Fulfillment
import Logging
import Operations
import Synchronization

/// Leases work that is due from one source and hands it to the worker, beside the fresh submissions and with a smaller
/// share of the slots. All loops share that: what frees thousands at once asks Apple no more than that.
final class LeaseLoop: Sendable {
    private let source: any LeaseSource
    private let worker: SubmissionWorker
    private let health: Health
    private let task = Mutex<Task<Void, Never>?>(nil)
    /// Leased work whose try has not ended, and the turn in which more is being leased.
    private let underWay = Atomic(0)

    private var slots: WorkSlots { worker.parking.slots }
    private var failures: Failures { health.failures }

    init(_ source: any LeaseSource, worker: SubmissionWorker, health: Health) {
        self.source = source
        self.worker = worker
        self.health = health
    }

    /// - Parameter supervise: runs what it is given, and hears of its end.
    func start(
        _ supervise: @escaping @Sendable (@Sendable () async -> Void) async -> Void = { await $0() }
    ) {
        task.withLock { task in
            if task == nil { task = Task { await supervise { await self.run() } } }
        }
    }

    func cancel() { task.withLock { $0?.cancel() } }

    /// Leases no more, cuts what is under way at Apple, and waits a while for what is in the database.
    func stop() async {
        cancel()
        // Not for the task's end: a database that is away would hold the process up.
        let deadline = WallClock.monotonicSeconds + PipelineLimits.leaseDrainSeconds
        while underWay.load(ordering: .sequentiallyConsistent) > 0, WallClock.monotonicSeconds < deadline {
            await BlockingWork.pause(seconds: 0.05)
        }
        health.retire(source.part)
    }

    private func run() async {
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                health.beat(source.part)
                underWay.add(1, ordering: .sequentiallyConsistent)
                var leased = LeasedBatch()
                switch await source.nextTurn() {
                case .nothing: break
                case .due: leased = await leaseDue()
                case .isolated(let item): await isolate(item, &group)
                }
                for items in leased.groups {
                    group.addTask { for item in items { await self.work(on: item) } }
                }
                underWay.subtract(1, ordering: .sequentiallyConsistent)
                if leased.isFull { continue }
                let seconds = PipelineLimits.leaseSeconds * Double.random(in: 0.5..<1.5)
                guard (try? await Task.sleep(for: .seconds(seconds))) != nil else { return }
            }
        }
    }

    private func leaseDue() async -> LeasedBatch {
        // While Apple is out, one at a time finds out when it is back.
        let limit = min(slots.roomForLeases, worker.parking.apple.isDown ? 1 : source.batch)
        guard limit > 0, slots.beginLeasing() else { return LeasedBatch() }
        defer { slots.endLeasing() }
        // Until the next turn: how long the database takes is not this loop's doing.
        health.retire(source.part)
        do {
            let leased = try await source.leaseDue(limit: limit)
            failures.recovered(source.failingPart)
            slots.leasesBegan(leased.count)
            underWay.add(leased.count, ordering: .sequentiallyConsistent)
            return leased
        } catch {
            failures.report(error, of: source.failingPart)
            return LeasedBatch()
        }
    }

    /// Returns when its try is over, or has lasted so long that others may be leased beside it.
    private func isolate(_ item: SubmissionInHand, _ group: inout DiscardingTaskGroup) async {
        underWay.add(1, ordering: .sequentiallyConsistent)
        let (over, end) = AsyncStream<Never>.makeStream()
        let clearing = Task {
            await source.clearSuspicion(of: item)
            end.finish()
        }
        group.addTask {
            await self.work(on: item)
            clearing.cancel()
            end.finish()
        }
        for await _ in over {}
    }

    private func work(on item: SubmissionInHand) async {
        defer {
            slots.leaseEnded()
            underWay.subtract(1, ordering: .sequentiallyConsistent)
        }
        CrashPoint.passed(item.decoded)
        do {
            do {
                if Task.isCancelled { throw Abandoned() }
                try await worker.work(on: item)
            } catch is Abandoned {
                return try await source.release(item)
            }
            try await source.end(item)
        } catch {
            // Its lease is left to end.
            failures.report(error, of: source.failingPart)
        }
    }
}
