import Kafka
import Synchronization

/// Counts the records whose delivery has not ended. A task can wait until the count is zero.
final class DeliveryCount: Sendable {
    typealias Failures = [Int: KafkaError]

    private struct State {
        var remaining: Int
        var failures: Failures = [:]
        var continuation: CheckedContinuation<Failures, Never>?
    }

    private let state: Mutex<State>

    init(expected: Int) {
        state = Mutex(State(remaining: expected))
    }

    /// Notes that a delivery ended. Call it once for each index.
    func ended(_ index: Int, _ failure: KafkaError? = nil) {
        let (continuation, failures) = state.withLock { state -> (CheckedContinuation<Failures, Never>?, Failures) in
            if let failure { state.failures[index] = failure }
            state.remaining -= 1
            guard state.remaining == 0 else { return (nil, [:]) }
            defer { state.continuation = nil }
            return (state.continuation, state.failures)
        }
        continuation?.resume(returning: failures)
    }

    /// Waits until all deliveries have ended. Returns the errors of failed deliveries, by index. Call it once.
    func failures() async -> Failures {
        await withCheckedContinuation { continuation in
            let failures = state.withLock { state -> Failures? in
                if state.remaining == 0 { return state.failures }
                state.continuation = continuation
                return nil
            }
            if let failures { continuation.resume(returning: failures) }
        }
    }
}
