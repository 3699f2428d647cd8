import Foundation
import Fulfillment
import NamesAndTimes

/// A batch on its way, seen from a thread that may block.
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

    /// Blocks until the body has ended. Where it has not at the deadline its task is cancelled: else it would keep its
    /// batch and go on beside those that are given the batch again. Its present work harms nothing: all of it may be
    /// done twice.
    /// - Parameters:
    ///   - deadline: in monotonic seconds.
    ///   - mayWait: is asked a few times a second. Where it says no the body goes on by itself.
    ///   - accuse: of a suspect: makes durable, on this thread, whether it is at work. Nil where the body works on none.
    ///   - body: returns the history of the database that holds its effects, nil where it has none there.
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

    /// Nil where it has not ended by then, or where an accusation is to be changed first.
    func result(waitingSeconds seconds: Double) -> Result<Effects, any Error>? {
        condition.lock()
        defer { condition.unlock() }
        if outcome == nil, request == nil { _ = condition.wait(until: Date(timeIntervalSinceNow: seconds)) }
        return outcome
    }
}
