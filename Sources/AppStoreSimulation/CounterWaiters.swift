/// The tasks that wait until the counters satisfy a condition, so that tests need not sleep.
struct CounterWaiters: Sendable {
    private struct Waiter: Sendable {
        var condition: @Sendable (SimulationCounters) -> Bool
        var continuation: CheckedContinuation<Void, Never>
    }

    private var waiters: [Int: Waiter] = [:]
    private var cancelled: Set<Int> = []
    private var nextID = 0

    var isEmpty: Bool { waiters.isEmpty }

    mutating func makeID() -> Int {
        nextID += 1
        return nextID
    }

    /// Adds a waiting task.
    /// - Returns: false if the task was cancelled before the call.
    mutating func add(
        _ id: Int, _ continuation: CheckedContinuation<Void, Never>,
        _ condition: @escaping @Sendable (SimulationCounters) -> Bool
    ) -> Bool {
        guard cancelled.remove(id) == nil else { return false }
        waiters[id] = Waiter(condition: condition, continuation: continuation)
        return true
    }

    /// Removes and returns the waiters whose condition is true. The caller must resume the waiters outside of its lock.
    mutating func take(_ counters: SimulationCounters) -> [CheckedContinuation<Void, Never>] {
        var ready: [CheckedContinuation<Void, Never>] = []
        for (id, waiter) in waiters where waiter.condition(counters) {
            waiters[id] = nil
            ready.append(waiter.continuation)
        }
        return ready
    }

    mutating func cancel(_ id: Int) -> CheckedContinuation<Void, Never>? {
        guard let waiter = waiters.removeValue(forKey: id) else {
            cancelled.insert(id)
            return nil
        }
        return waiter.continuation
    }
}
