import Fulfillment
import Logging
import Operations
import Synchronization

/// Takes up parked submissions that are due, beside the fresh ones and with a smaller share.
final class Revisit: Sendable {
    let worker: SubmissionWorker
    let desk: ParkingDesk
    private let health: Health
    let logger: Logger
    var failures: Failures { health.failures }
    private let task = Mutex<Task<Void, Never>?>(nil)
    /// While leases are being taken: what comes of it is not counted yet.
    private let isTaking = Atomic(false)

    /// Nil where nothing is ever parked.
    init?(worker: SubmissionWorker, health: Health, logger: Logger) {
        guard let desk = worker.parking else { return nil }
        self.worker = worker
        self.desk = desk
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

    /// Takes up no more, cuts what is under way at Apple, and waits a while for what is in the database.
    func stop() async {
        cancel()
        // Not for the task's end: a database that is away would hold the process up.
        let deadline = WallClock.monotonicSeconds + PipelineLimits.revisitDrainSeconds
        while desk.load.parked > 0 || isTaking.load(ordering: .sequentiallyConsistent),
            WallClock.monotonicSeconds < deadline
        {
            await BlockingWork.pause(seconds: 0.05)
        }
        health.retire(.parkedLoop)
    }

    private func run() async {
        await withDiscardingTaskGroup { group in
            var nextLook = 0.0
            while !Task.isCancelled {
                health.beat(.parkedLoop)
                worker.noteMended(on: desk)
                isTaking.store(true, ordering: .sequentiallyConsistent)
                var taken = Taken()
                if WallClock.monotonicSeconds < nextLook {
                    taken = await leaseDue()
                } else if await !hasSuspect() {
                    nextLook = WallClock.monotonicSeconds + PipelineLimits.suspectSeconds
                    taken = await leaseDue()
                } else if desk.load.parked == 0 {
                    // Others come in between: suspects must not keep them waiting.
                    nextLook = WallClock.monotonicSeconds + PipelineLimits.suspectSpacingSeconds
                    await leaseSuspect(&group)
                }
                isTaking.store(false, ordering: .sequentiallyConsistent)
                for works in taken.proofs {
                    group.addTask { for work in works { await self.work(on: work) } }
                }
                if taken.isFull { continue }
                let seconds = PipelineLimits.revisitSeconds * Double.random(in: 0.5..<1.5)
                guard (try? await Task.sleep(for: .seconds(seconds))) != nil else { return }
            }
        }
    }

    private struct Taken {
        /// Those of one app and proof in one list: one answer is for all of them.
        var proofs: [[ParkedWork]] = []
        /// There may be more.
        var isFull = false
    }

    private func leaseDue() async -> Taken {
        // While Apple is out, one at a time finds out when it is back.
        let limit = min(desk.load.roomForParked, desk.apple.isDown ? 1 : PipelineLimits.revisitBatch)
        guard limit > 0, desk.load.beginTaking() else { return Taken() }
        defer { desk.load.endTaking() }
        let leased: [LeasedSubmission]
        // Until the next turn: how long the database takes is not this loop's doing.
        health.retire(.parkedLoop)
        do { leased = try await desk.store.leaseDue(limit: limit) } catch {
            failures.report(error, of: .parked)
            return Taken()
        }
        failures.recovered(.parked)
        desk.load.parkedBegan(leased.count)
        var answers: [SharedAnswers.Key: Int] = [:]
        var proofs: [[ParkedWork]] = []
        for one in leased {
            let key = SharedAnswers.Key(proof: one.proof, bundleID: one.submission.bundleID)
            if let index = answers[key], let first = proofs[index].first {
                proofs[index].append(ParkedWork(leased: one, answer: first.answer))
            } else {
                answers[key] = proofs.count
                proofs.append([ParkedWork(leased: one, answer: AnswerOfProof())])
            }
        }
        return Taken(proofs: proofs, isFull: leased.count { $0.isDue } == PipelineLimits.revisitBatch)
    }

    func work(on work: ParkedWork) async {
        defer { desk.load.parkedEnded() }
        CrashPoint.passed(.submission(work.leased.submission))
        do {
            do {
                if Task.isCancelled { throw Abandoned() }
                try await worker.work(on: InFlightRecord(work))
            } catch is Abandoned {
                return try await desk.store.endLease(of: work.leased)
            }
            // Answered, by this try or an earlier one. Where it was parked again, the lease is over and the row stays.
            try await desk.store.delete(work.leased)
        } catch {
            // Its lease is left to end.
            failures.report(error, of: .parked)
        }
    }
}
