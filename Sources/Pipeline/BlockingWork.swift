import Dispatch
import Operations
import Synchronization

/// Runs blocking work outside the cooperative thread pool. It also has a pause that cancellation does not end.
enum BlockingWork {
    private static let queue = DispatchQueue(label: "receiptd.blocking", attributes: .concurrent)

    static func run(_ work: @escaping @Sendable () -> Void) {
        queue.async(execute: work)
    }

    /// Pauses for the whole time, even in a cancelled task, in which `Task.sleep` would end at once.
    static func pause(seconds: Double) async {
        await withCheckedContinuation { continuation in
            queue.asyncAfter(deadline: .now() + seconds) { continuation.resume() }
        }
    }

    /// Runs `body` in a task, and blocks the calling thread until `body` ends. Call it only on a thread that may block.
    /// Returns nil if `body` throws. Also returns nil after `seconds`; `body` then continues.
    /// - Parameter failed: called on the calling thread if the result is nil, with the error of `body` or with
    ///   `TimedOut`.
    static func wait<Value: Sendable>(
        seconds: Double, failed: (any Error) -> Void = { _ in }, _ body: @escaping @Sendable () async throws -> Value
    ) -> Value? {
        let answer = Answer<Value>()
        let ended = DispatchSemaphore(value: 0)
        Task {
            let result: Result<Value, any Error>
            do { result = .success(try await body()) } catch { result = .failure(error) }
            answer.result.withLock { $0 = result }
            ended.signal()
        }
        guard ended.wait(timeout: .now() + max(0, seconds)) == .success, let result = answer.result.withLock({ $0 })
        else {
            failed(TimedOut(seconds: seconds))
            return nil
        }
        switch result {
        case .success(let value): return value
        case .failure(let error):
            failed(error)
            return nil
        }
    }

    /// The error of `wait` if `body` runs longer than `seconds`.
    struct TimedOut: DescribedError {
        let seconds: Double
        var failureWords: String { "no answer within \(seconds) s" }
    }

    private final class Answer<Value: Sendable>: Sendable {
        let result = Mutex<Result<Value, any Error>?>(nil)
    }
}
