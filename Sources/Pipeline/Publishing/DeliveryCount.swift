import Synchronization

/// Waits for the delivery reports of several records.
final class DeliveryCount: Sendable {
    private struct State {
        var remaining: Int
        var firstFailure: Int?
        var continuation: CheckedContinuation<Int?, Never>?
    }

    private let state: Mutex<State>

    init(expected: Int) {
        state = Mutex(State(remaining: expected))
    }

    func ended(_ index: Int, failed: Bool) {
        let continuation = state.withLock { state -> CheckedContinuation<Int?, Never>? in
            if failed { state.firstFailure = min(state.firstFailure ?? index, index) }
            state.remaining -= 1
            guard state.remaining == 0 else { return nil }
            defer { state.continuation = nil }
            return state.continuation
        }
        continuation?.resume(returning: failure)
    }

    /// The lowest index that failed, once all have ended.
    func firstFailure() async -> Int? {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.remaining > 0 { state.continuation = continuation }
                return state.remaining == 0
            }
            if isOver { continuation.resume(returning: failure) }
        }
    }

    private var failure: Int? { state.withLock { $0.firstFailure } }
}
