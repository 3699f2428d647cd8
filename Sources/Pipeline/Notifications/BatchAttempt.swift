import Foundation

/// A batch on its way, seen from a thread that may block.
///
/// `@unchecked Sendable`: `outcome` is touched only with the condition's lock held.
final class BatchAttempt: @unchecked Sendable {
    private let condition = NSCondition()
    private var outcome: Result<Void, any Error>?

    func end(_ result: Result<Void, any Error>) {
        condition.lock()
        outcome = result
        condition.signal()
        condition.unlock()
    }

    /// Nil where it has not ended by then.
    func result(waitingSeconds seconds: Double) -> Result<Void, any Error>? {
        condition.lock()
        defer { condition.unlock() }
        if outcome == nil { _ = condition.wait(until: Date(timeIntervalSinceNow: seconds)) }
        return outcome
    }
}
