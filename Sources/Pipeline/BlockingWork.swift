import Dispatch

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
}
