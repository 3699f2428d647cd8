import NamesAndTimes
import Operations
import Synchronization

/// Leases due rows as long as the process runs, beside all other work.
protocol LeasingLoop: Sendable {
    /// The name under which health watches the loop. The watch begins with each turn, and ends before the turn queries
    /// PostgreSQL. Failures are reported under the name `failingPart`.
    var part: Health.Part { get }
    var failingPart: FailingPart { get }
    var isWellOnceLeased: Bool { get }
    var health: Health { get }
    var state: LeasingState { get }

    /// Leases as many rows as there are free places, and adds the work on them to the group.
    /// - Returns: the mean seconds until the next turn; nil for at once. The pause is random, from half to one and a
    ///   half times this.
    func turn(_ group: inout DiscardingTaskGroup) async -> Double?
}

/// The running work of a leasing loop.
final class LeasingState: Sendable {
    fileprivate let task = Mutex<Task<Void, Never>?>(nil)
    /// True while a turn may lease more rows.
    fileprivate let isInTurn = Atomic(false)
    private let count = Atomic(0)

    /// The number of leased rows whose try has not ended.
    var underWay: Int { count.load(ordering: .sequentiallyConsistent) }

    fileprivate var isIdle: Bool {
        // `isInTurn` must be read first. A turn adds its leased rows to `underWay` before `isInTurn` becomes false.
        !isInTurn.load(ordering: .sequentiallyConsistent) && underWay == 0
    }

    /// Adds leased rows to the count. Call it in the turn that leased them.
    func began(_ leased: Int) { count.add(leased, ordering: .sequentiallyConsistent) }
    func ended() { count.subtract(1, ordering: .sequentiallyConsistent) }
}

extension LeasingLoop {
    var isWellOnceLeased: Bool { true }

    /// - Parameter supervise: runs the given function, and handles its end.
    func start(
        _ supervise: @escaping @Sendable (@Sendable () async -> Void) async -> Void = { await $0() }
    ) {
        state.task.withLock { task in
            if task == nil { task = Task { await supervise { await run() } } }
        }
    }

    func cancel() { state.task.withLock { $0?.cancel() } }

    /// Stops leasing, cancels work that waits for Apple, and waits a while for work in the database.
    func stop() async {
        cancel()
        // If PostgreSQL cannot be reached, the work does not end. The deadline lets the process stop in time.
        let deadline = WallClock.monotonicSeconds + PipelineLimits.leaseDrainSeconds
        while !state.isIdle, WallClock.monotonicSeconds < deadline { await BlockingWork.pause(seconds: 0.05) }
        health.retire(part)
    }

    /// Runs `body`. If `body` throws, reports the failure and returns nil.
    func lease<Leased>(_ body: () async throws -> Leased) async -> Leased? {
        // Health does not watch the part until the next turn, because a slow database is not the loop's fault.
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
