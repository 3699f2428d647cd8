import Fulfillment
import NamesAndTimes
import Synchronization

/// Checks with Apple some receipts that receiptd has rejected without a request to Apple. A check can show that
/// receiptd misreads receipts, for example because Apple changed their format. A stopping process cancels its checks.
final class LocalRefusalChecks: Sendable {
    private struct State {
        var sampling: RefusalSampling
        var tasks: [UInt64: Task<Void, Never>] = [:]
        var lastNumber: UInt64 = 0
        var isStopped = false
    }

    private let state: Mutex<State>

    init(perMinute: Int) {
        state = Mutex(State(sampling: RefusalSampling(perMinute: perMinute)))
    }

    /// True if a check may start now. The worker reads this for every refused receipt.
    var isDue: Bool {
        state.withLock { state in
            !state.isStopped && state.tasks.count < PipelineLimits.refusalChecksAtOnce
                && state.sampling.isDue(now: WallClock.monotonicSeconds)
        }
    }

    /// Runs the check of a player's receipt in a task. Does nothing if a receipt of this player was checked recently,
    /// or too many checks are running.
    func begin(for player: PlayerID, _ check: @escaping @Sendable () async -> Void) {
        state.withLock { state in
            guard !state.isStopped, state.tasks.count < PipelineLimits.refusalChecksAtOnce,
                state.sampling.take(player, now: WallClock.monotonicSeconds)
            else { return }
            state.lastNumber += 1
            let number = state.lastNumber
            state.tasks[number] = Task { [self] in
                await check()
                self.state.withLock { $0.tasks[number] = nil }
            }
        }
    }

    /// Waits until no check is running.
    func waitUntilIdle() async {
        while let task = state.withLock({ $0.tasks.values.first }) { await task.value }
    }

    /// Cancels the running checks, and waits for their end. Later calls of `begin` start no check.
    func stop() async {
        let tasks = state.withLock { state in
            state.isStopped = true
            return Array(state.tasks.values)
        }
        for task in tasks { task.cancel() }
        await waitUntilIdle()
    }
}
