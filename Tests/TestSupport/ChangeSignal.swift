import Synchronization

/// Wakes a test when what it waits for may have come. Each bed of doubles has one signal, and each of its doubles raises it
/// at every change (`Shared`): tests that run beside each other do not wake each other.
public final class ChangeSignal: Sendable {
    private struct State {
        var waiters: [Int: AsyncStream<Void>.Continuation] = [:]
        var lastNumber = 0
    }

    private let state = Mutex(State())

    public init() {}

    /// Something changed, and can be seen.
    public func raise() {
        state.withLock { state in
            for waiter in state.waiters.values { waiter.yield() }
        }
    }

    /// Returns when the condition holds: looks at once, and again after each change. It may look only at what raises this
    /// signal, since nothing else wakes it. The limit only ends a test that would hang.
    /// - Parameter what: is only asked for where it never came, and may then say what there is instead.
    public func until(
        _ what: @autoclosure () -> String, within limit: Duration = .seconds(60), file: StaticString = #fileID,
        line: UInt = #line, _ condition: () throws -> Bool
    ) async throws {
        // A change between a look and the wait behind it stays in the buffer: one more look, however many there were.
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
