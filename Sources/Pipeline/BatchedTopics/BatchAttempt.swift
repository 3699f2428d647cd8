import Clocks
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

    /// Blocks until the body has ended. Where it has not at the deadline its task is cancelled: else it would keep its batch
    /// and go on beside those that are given the batch again. What it does yet harms nothing: all of it may be done twice.
    /// - Parameters:
    ///   - deadline: in monotonic seconds.
    ///   - mayWait: is asked a few times a second. Where it says no the body goes on by itself.
    ///   - body: returns the history of the database that holds its effects, nil where it has none there.
    static func run(
        until deadline: Double, mayWait: () -> Bool, _ body: @escaping @Sendable () async throws -> DatabaseHistory?
    ) -> Result<Effects, any Error> {
        let attempt = BatchAttempt()
        let task = Task {
            do {
                attempt.end(.success(Effects(history: try await body())))
            } catch {
                attempt.end(.failure(error))
            }
        }
        while true {
            if let result = attempt.result(waitingSeconds: 0.2) { return result }
            guard mayWait() else { return .failure(Abandoned()) }
            guard WallClock.monotonicSeconds >= deadline else { continue }
            task.cancel()
            return .failure(Abandoned())
        }
    }

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
