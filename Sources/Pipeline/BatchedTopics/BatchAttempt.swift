import Foundation
import Fulfillment
import NamesAndTimes

/// One attempt at a batch. A task runs the work, and a thread that may block waits for the task.
///
/// `@unchecked Sendable` is sound: `outcome` and `request` are used only with `condition` locked.
final class BatchAttempt: @unchecked Sendable {
    /// The result of a successful attempt.
    struct Effects {
        /// The history of the database (its identity from one start of the server to the next) that stores the batch's
        /// effects; nil if no database does.
        let history: DatabaseHistory?
    }

    private let condition = NSCondition()
    private var outcome: Result<Effects, any Error>?
    private var request: AccusationRequest?

    /// Runs `body` in a task, and blocks until the task ends or the deadline passes. At the deadline `run` cancels the
    /// task, so that the task does not run beside a second attempt. The cancelled task may still have effects, which
    /// does no harm, because every effect may happen twice.
    /// - Parameters:
    ///   - deadline: the end of the wait, in monotonic seconds.
    ///   - mayWait: called a few times a second. If it returns false, `run` returns, and `body` continues in its task.
    ///   - accuse: called on the calling thread. Stores whether the isolated record is at work, and returns whether
    ///     that is stored. `accuse` is nil if no record is isolated.
    ///   - body: returns `Effects.history`.
    /// - Returns: the result of `body`; an `Abandoned` error if the wait ended before `body` did.
    static func run(
        until deadline: Double, mayWait: () -> Bool, accuse: ((Bool) -> Bool)? = nil,
        _ body: @escaping @Sendable () async throws -> DatabaseHistory?
    ) -> Result<Effects, any Error> {
        let attempt = BatchAttempt()
        let accusation = accuse.map { _ in
            Accusation { [attempt] isAtWork in await AccusationRequest.ask(isAtWork) { attempt.ask($0) } }
        }
        let task = Task {
            do {
                let history = try await Suspected.$work.withValue(accusation) { try await body() }
                attempt.end(.success(Effects(history: history)))
            } catch {
                attempt.end(.failure(error))
            }
        }
        while true {
            if let result = attempt.result(waitingSeconds: 0.2) { return result }
            if let accuse, let request = attempt.takeRequest(), !request.isOver {
                request.end(accuse(request.isAtWork))
            }
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

    private func ask(_ asked: AccusationRequest) {
        condition.lock()
        request = asked
        condition.signal()
        condition.unlock()
    }

    private func takeRequest() -> AccusationRequest? {
        condition.lock()
        defer { condition.unlock() }
        return request.take()
    }

    /// Waits until `body` ends or requests an accusation, for at most `seconds`. Returns the result of `body`; nil if
    /// `body` has not ended.
    func result(waitingSeconds seconds: Double) -> Result<Effects, any Error>? {
        condition.lock()
        defer { condition.unlock() }
        if outcome == nil, request == nil { _ = condition.wait(until: Date(timeIntervalSinceNow: seconds)) }
        return outcome
    }
}
