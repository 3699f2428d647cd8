import Dispatch
import Synchronization

/// Threads for what must not block the cooperative pool, and pauses that a cancelled task still makes.
enum BlockingWork {
    private static let queue = DispatchQueue(label: "receiptd.blocking", attributes: .concurrent)

    static func run(_ work: @escaping @Sendable () -> Void) {
        queue.async(execute: work)
    }

    /// Unlike `Task.sleep`, also in a task that is cancelled.
    static func pause(seconds: Double) async {
        await withCheckedContinuation { continuation in
            queue.asyncAfter(deadline: .now() + seconds) { continuation.resume() }
        }
    }

    /// Blocks the calling thread, which must be one that may block, until the body ends. Nil where it throws or takes
    /// longer; then it goes on by itself.
    static func wait<Value: Sendable>(
        seconds: Double, _ body: @escaping @Sendable () async throws -> Value
    ) -> Value? {
        let answer = Answer<Value>()
        let ended = DispatchSemaphore(value: 0)
        Task {
            let value = try? await body()
            answer.value.withLock { $0 = value }
            ended.signal()
        }
        guard ended.wait(timeout: .now() + max(0, seconds)) == .success else { return nil }
        return answer.value.withLock { $0 }
    }

    private final class Answer<Value: Sendable>: Sendable {
        let value = Mutex<Value?>(nil)
    }
}
