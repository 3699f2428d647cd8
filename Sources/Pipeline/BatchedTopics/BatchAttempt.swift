import Foundation
import Fulfillment

/// A batch on its way, seen from a thread that may block.
///
/// `@unchecked Sendable`: `outcome` is touched only with the condition's lock held.
final class BatchAttempt: @unchecked Sendable {
    /// What came of a batch.
    struct Effects {
        /// Of the database that holds them; nil where there are none.
        let history: DatabaseHistory?
    }

    private let condition = NSCondition()
    private var outcome: Result<Effects, any Error>?

    func end(_ result: Result<Effects, any Error>) {
        condition.lock()
        outcome = result
        condition.signal()
        condition.unlock()
    }

    /// Nil where it has not ended by then.
    func result(waitingSeconds seconds: Double) -> Result<Effects, any Error>? {
        condition.lock()
        defer { condition.unlock() }
        if outcome == nil { _ = condition.wait(until: Date(timeIntervalSinceNow: seconds)) }
        return outcome
    }
}
