import Foundation
import Fulfillment
import NamesAndTimes

/// A batch under way, seen from a thread that may block.
///
/// `@unchecked Sendable`: `outcome` and `request` are touched only with the condition's lock held.
final class BatchAttempt: @unchecked Sendable {
    /// The result of a batch.
    struct Effects {
        /// The history of the database that holds them; nil if there are none.
        let history: DatabaseHistory?
    }

    private let condition = NSCondition()
    private var outcome: Result<Effects, any Error>?
    private var request: AccusationRequest?

    /// Blocks until the body has ended. If it has not ended at the deadline, its task is cancelled. Otherwise it would
    /// keep its batch and go on beside those that are given the batch again. The work under way harms nothing, because
    /// all of it may be done twice.
    /// - Parameters:
    ///   - deadline: the end of the wait, in monotonic seconds.
    ///   - mayWait: called a few times a second. If it returns false, the body goes on by itself.
    ///   - accuse: for a suspect: makes durable, on this thread, whether it is at work; nil if the body works on none.
    ///   - body: returns the history of the database that holds its effects; nil if it has none there.
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

    /// Returns nil if the body has not ended by then, or if an accusation is to be changed first.
    func result(waitingSeconds seconds: Double) -> Result<Effects, any Error>? {
        condition.lock()
        defer { condition.unlock() }
        if outcome == nil, request == nil { _ = condition.wait(until: Date(timeIntervalSinceNow: seconds)) }
        return outcome
    }
}
