import Synchronization

/// Wakes a test after each change of a double. The doubles of one test share one signal, and raise it at every change
/// (`Shared`). So tests that run at the same time do not wake each other.
public final class ChangeSignal: Sendable {
    private struct State {
        var waiters: [Int: AsyncStream<Void>.Continuation] = [:]
        var lastNumber = 0
    }

    private let state = Mutex(State())

    public init() {}

    /// Wakes the waiting tests. The change must be visible before the call.
    public func raise() {
        state.withLock { state in
            for waiter in state.waiters.values { waiter.yield() }
        }
    }

    /// Returns once the condition is true. Checks the condition at once and after each change, so the condition must
    /// read only doubles that raise this signal. Throws `DeadlinePassed` after the limit, which only ends a test that
    /// would wait forever.
    /// - Parameter what: the condition's name in the error. It is evaluated only after the limit, so it may describe
    ///   the state at that time.
    public func until(
        _ what: @autoclosure () -> String, within limit: Duration = .seconds(60), file: StaticString = #fileID,
        line: UInt = #line, _ condition: () throws -> Bool
    ) async throws {
        // The buffer keeps a change between a check and the next wait. Several changes together cause one more check.
        let (changes, waiter) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let number = enter(waiter)
        defer { leave(number) }
        let deadline = Task {
            try await Task.sleep(for: limit)
            waiter.finish()
        }
        defer { deadline.cancel() }
        waiter.yield()
        for await _ in changes where try condition() { return }
        try Task.checkCancellation()
        throw DeadlinePassed(description: "never came true: \(what()) (\(file):\(line))")
    }

    private func enter(_ waiter: AsyncStream<Void>.Continuation) -> Int {
        state.withLock { state in
            state.lastNumber += 1
            state.waiters[state.lastNumber] = waiter
            return state.lastNumber
        }
    }

    private func leave(_ number: Int) {
        state.withLock { _ = $0.waiters.removeValue(forKey: number) }
    }
}
