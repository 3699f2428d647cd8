import Fulfillment
import NamesAndTimes
import Synchronization

/// The running checks of receipts that receiptd refused. Apple changes its receipts, so that receiptd's reading of them
/// may be out of date. A check is lost with its process.
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

    /// True if a check may begin now. It is read for every refused receipt.
    var isDue: Bool {
        state.withLock { state in
            !state.isStopped && state.tasks.count < PipelineLimits.refusalChecksAtOnce
                && state.sampling.isDue(now: WallClock.monotonicSeconds)
        }
    }

    /// Runs the check of a player's receipt in a task of its own, unless one of that player's ran lately.
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

    /// Returns once no check is running.
    func waitUntilIdle() async {
        while let task = state.withLock({ $0.tasks.values.first }) { await task.value }
    }

    /// Cancels the running checks, and begins no more.
    func stop() async {
        let tasks = state.withLock { state in
            state.isStopped = true
            return Array(state.tasks.values)
        }
        for task in tasks { task.cancel() }
        await waitUntilIdle()
    }
}
