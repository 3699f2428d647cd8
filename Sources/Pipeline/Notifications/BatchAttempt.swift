import Dispatch
import Synchronization

/// A batch on its way, seen from a thread that may block.
final class BatchAttempt: Sendable {
    private let outcome = Mutex<Result<Void, any Error>?>(nil)
    private let ended = DispatchSemaphore(value: 0)

    func end(_ result: Result<Void, any Error>) {
        outcome.withLock { $0 = result }
        ended.signal()
    }

    /// Nil where it has not ended by then.
    func result(waitingSeconds seconds: Double) -> Result<Void, any Error>? {
        guard ended.wait(timeout: .now() + seconds) == .success else { return nil }
        return outcome.withLock { $0 }
    }
}
