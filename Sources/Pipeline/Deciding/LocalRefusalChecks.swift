import Fulfillment
import NamesAndTimes
import Synchronization

/// The running checks of receipts that receiptd refused by itself. Apple may have changed its receipts, so that
/// receiptd reads them wrongly. A check ends with its process.
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

    /// True if a check may begin now. The worker reads it for every refused receipt.
    var isDue: Bool {
        state.withLock { state in
            !state.isStopped && state.tasks.count < PipelineLimits.refusalChecksAtOnce
                && state.sampling.isDue(now: WallClock.monotonicSeconds)
        }
    }

    /// Runs the check of a player's receipt in a task of its own. Does nothing if a receipt of the same player was
    /// checked lately.
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

    /// Cancels the running checks, waits for their end, and lets no more begin.
    func stop() async {
        let tasks = state.withLock { state in
            state.isStopped = true
            return Array(state.tasks.values)
        }
        for task in tasks { task.cancel() }
        await waitUntilIdle()
    }
}
