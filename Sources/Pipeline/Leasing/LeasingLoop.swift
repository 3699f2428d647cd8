import NamesAndTimes
import Operations
import Synchronization

/// Leases what is due for as long as the process runs, beside everything else.
protocol LeasingLoop: Sendable {
    /// The part that health watches, and that reports failures, while it leases.
    var part: Health.Part { get }
    var failingPart: FailingPart { get }
    var isWellOnceLeased: Bool { get }
    var health: Health { get }
    var state: LeasingState { get }

    /// Leases as much as there is room for, and adds its work to the group.
    /// - Returns: the seconds until the next turn, which is drawn from half of them to one and a half; nil for at once.
    func turn(_ group: inout DiscardingTaskGroup) async -> Double?
}

/// The running work of a leasing loop.
final class LeasingState: Sendable {
    fileprivate let task = Mutex<Task<Void, Never>?>(nil)
    /// True while a turn may be leasing more.
    fileprivate let isInTurn = Atomic(false)
    private let count = Atomic(0)

    /// The number of leased rows whose try has not ended.
    var underWay: Int { count.load(ordering: .sequentiallyConsistent) }

    fileprivate var isIdle: Bool {
        // The order matters: what a turn leased is under way before the turn ends.
        !isInTurn.load(ordering: .sequentiallyConsistent) && underWay == 0
    }

    /// Notes leased rows. Call it in the turn that leased them.
    func began(_ leased: Int) { count.add(leased, ordering: .sequentiallyConsistent) }
    func ended() { count.subtract(1, ordering: .sequentiallyConsistent) }
}

extension LeasingLoop {
    var isWellOnceLeased: Bool { true }

    /// - Parameter supervise: runs the function that it is given, and sees its end.
    func start(
        _ supervise: @escaping @Sendable (@Sendable () async -> Void) async -> Void = { await $0() }
    ) {
        state.task.withLock { task in
            if task == nil { task = Task { await supervise { await run() } } }
        }
    }

    func cancel() { state.task.withLock { $0?.cancel() } }

    /// Leases no more, cuts work under way at Apple, and waits a while for work in the database.
    func stop() async {
        cancel()
        // The wait is not for the task's end: a database that is away would hold the process up.
        let deadline = WallClock.monotonicSeconds + PipelineLimits.leaseDrainSeconds
        while !state.isIdle, WallClock.monotonicSeconds < deadline { await BlockingWork.pause(seconds: 0.05) }
        health.retire(part)
    }

    /// Returns nil if the database is out of reach, and reports that.
    func lease<Leased>(_ body: () async throws -> Leased) async -> Leased? {
        // The part is not watched until the next turn: how long the database takes is not this loop's doing.
        health.retire(part)
        do {
            let leased = try await body()
            if isWellOnceLeased { health.failures.recovered(failingPart) }
            return leased
        } catch {
            health.failures.report(error, of: failingPart)
            return nil
        }
    }

    private func run() async {
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                health.beat(part)
                state.isInTurn.store(true, ordering: .sequentiallyConsistent)
                let pause = await turn(&group)
                state.isInTurn.store(false, ordering: .sequentiallyConsistent)
                guard let pause else { continue }
                guard (try? await Task.sleep(for: .seconds(pause * .random(in: 0.5..<1.5)))) != nil else { return }
            }
        }
    }
}
