import Foundation
import Fulfillment
import NamesAndTimes

/// An attempt at one batch: a task works on it, and a thread that may block waits for the task.
///
/// `@unchecked Sendable`: `outcome` and `request` are touched only with the condition's lock held.
final class BatchAttempt: @unchecked Sendable {
    /// The result of a batch that is done.
    struct Effects {
        /// The history of the database that holds the batch's effects; nil if it has none there.
        let history: DatabaseHistory?
    }

    private let condition = NSCondition()
    private var outcome: Result<Effects, any Error>?
    private var request: AccusationRequest?

    /// Runs the body in a task, and blocks until the task ends. At the deadline the task is cancelled, so that it does
    /// not go on beside the next attempt at its batch. Work that is still under way harms nothing, because all of it
    /// may be done twice.
    /// - Parameters:
    ///   - deadline: the end of the wait, in monotonic seconds.
    ///   - mayWait: called a few times a second. If it returns false, the call returns and the body goes on by itself.
    ///   - accuse: makes durable, on this thread, whether the isolated record is at work, and returns false if it
    ///     cannot; nil if no record is isolated.
    ///   - body: returns the history of the database that holds the batch's effects; nil if it has none there.
    /// - Returns: the body's result; an `Abandoned` error if the wait ended first.
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

    /// Waits for the body's end or an accusation's request. Returns the body's result; nil if it has not ended.
    func result(waitingSeconds seconds: Double) -> Result<Effects, any Error>? {
        condition.lock()
        defer { condition.unlock() }
        if outcome == nil, request == nil { _ = condition.wait(until: Date(timeIntervalSinceNow: seconds)) }
        return outcome
    }
}
