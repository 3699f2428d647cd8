import Fulfillment
import Logging
import Operations
import Synchronization

/// Takes up held transactions whose wait may end: released by an operator, or decided by an older catalog. It shares
/// with `Revisit` what parked work may take of Apple, so that a catalog that frees thousands sends no more than that.
final class HoldRevisit: Sendable {
    private let worker: SubmissionWorker
    private let desk: ParkingDesk
    private let holds: any HeldPurchases
    private let health: Health
    private let logger: Logger
    private let task = Mutex<Task<Void, Never>?>(nil)
    private let underWay = Atomic(0)

    /// Nil where nothing is ever parked.
    init?(worker: SubmissionWorker, holds: any HeldPurchases, health: Health, logger: Logger) {
        guard let desk = worker.parking else { return nil }
        self.worker = worker
        self.desk = desk
        self.holds = holds
        self.health = health
        self.logger = logger
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

    /// Takes up no more, and waits a while for what is in the database.
    func stop() async {
        cancel()
        // Not for the task's end: a database that is away would hold the process up.
        let deadline = WallClock.monotonicSeconds + PipelineLimits.revisitDrainSeconds
        while underWay.load(ordering: .sequentiallyConsistent) > 0, WallClock.monotonicSeconds < deadline {
            await BlockingWork.pause(seconds: 0.05)
        }
        health.retire(.heldLoop)
    }

    private func run() async {
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                health.beat(.heldLoop)
                underWay.add(1, ordering: .sequentiallyConsistent)
                let taken = await leaseDue()
                for holds in taken.proofs {
                    group.addTask { await self.work(on: holds) }
                }
                underWay.subtract(1, ordering: .sequentiallyConsistent)
                if taken.isFull { continue }
                let seconds = PipelineLimits.revisitSeconds * Double.random(in: 0.5..<1.5)
                guard (try? await Task.sleep(for: .seconds(seconds))) != nil else { return }
            }
        }
    }

    private struct Taken {
        /// Those of one app and proof in one list: one answer is for all of them.
        var proofs: [[HeldWork]] = []
        /// There may be more.
        var isFull = false
    }

    private func leaseDue() async -> Taken {
        guard let catalog = worker.catalog() else { return Taken() }
        // While Apple is out, one at a time finds out when it is back.
        let limit = min(desk.load.roomForParked, desk.apple.isDown ? 1 : PipelineLimits.holdBatch)
        guard limit > 0, desk.load.beginTaking() else { return Taken() }
        defer { desk.load.endTaking() }
        // Until the next turn: how long the database takes is not this loop's doing.
        health.retire(.heldLoop)
        do {
            let leased = try await holds.leaseDue(catalogVersion: catalog.version, limit: limit)
            var staying: [(hold: LeasedHold, reason: Reason)] = []
            var open: [LeasedHold] = []
            for hold in leased {
                if case .stays(let reason) = hold.outlook(under: catalog, now: WallClock.now) {
                    staying.append((hold, reason))
                } else {
                    open.append(hold)
                }
            }
            if !staying.isEmpty { try await holds.keepHeld(staying, catalogVersion: catalog.version) }
            health.failures.recovered(.holds)
            desk.load.parkedBegan(open.count)
            underWay.add(open.count, ordering: .sequentiallyConsistent)
            // With few places, only what took none of them calls for haste.
            let isFull = leased.count == limit && (limit == PipelineLimits.holdBatch || !staying.isEmpty)
            return Taken(proofs: grouped(open), isFull: isFull)
        } catch {
            health.failures.report(error, of: .holds)
            return Taken()
        }
    }

    /// Holds of one submission have one proof; so may those of several.
    private func grouped(_ holds: [LeasedHold]) -> [[HeldWork]] {
        var places: [NameBasedUUID: Int] = [:]
        var groups: [[HeldWork]] = []
        for hold in holds {
            if let place = places[hold.identity], let first = groups[place].first {
                groups[place].append(HeldWork(hold: hold, answer: first.answer))
            } else {
                places[hold.identity] = groups.count
                groups.append([HeldWork(hold: hold, answer: AnswerOfProof())])
            }
        }
        return groups
    }

    private func work(on works: [HeldWork]) async {
        for work in works {
            defer {
                desk.load.parkedEnded()
                underWay.subtract(1, ordering: .sequentiallyConsistent)
            }
            do {
                if Task.isCancelled {
                    try await holds.endLease(of: work.hold)
                    continue
                }
                try await worker.revisit(work, of: holds)
            } catch {
                health.failures.report(error, of: .holds)
                // Nothing where its lease is over, or the database away: then the lease ends by itself.
                try? await holds.reschedule(work.hold, dueAfterSeconds: PipelineLimits.holdFailureSeconds)
            }
        }
    }
}

/// A held transaction under way, with the answer that it shares with others of the same submission.
struct HeldWork: Sendable {
    let hold: LeasedHold
    let answer: AnswerOfProof
}
