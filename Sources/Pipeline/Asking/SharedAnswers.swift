import Fulfillment
import Synchronization

/// Asks Apple once for a proof that is in flight twice. The second submission waits for the first one's answer.
final class SharedAnswers: Sendable {
    struct Key: Hashable {
        let proof: Digest256
        /// The app. Apps have different secrets, so that an answer for one is none for another.
        let bundleID: BundleID
    }

    private let followers = Mutex(AnswerFollowers<CheckedContinuation<AppleAnswer?, Never>>())

    /// Runs `ask`, or waits for the leader that runs it already, as long as its try takes, with its wait in front of
    /// Apple. A cancelled leader hands on trouble, and its followers try again. A cancelled follower ends in trouble at
    /// once.
    /// - Parameter waiting: called with true when a follower's wait begins, and with false when it ends.
    func answer(
        for key: Key, waiting: (Bool) -> Void = { _ in }, ask: () async -> AppleAnswer
    ) async -> AppleAnswer {
        while let ticket = followers.withLock({ $0.enter(key) }) {
            waiting(true)
            let shared = await follow(key, ticket)
            waiting(false)
            if let shared { return shared }
            if Task.isCancelled { return .trouble(.init(.connection)) }
        }
        let answer = await ask()
        for follower in followers.withLock({ $0.end(key) }) { follower.resume(returning: answer) }
        return answer
    }

    /// Returns the number of tasks that wait for another one's answer.
    func waitingCount(_ key: Key) -> Int { followers.withLock { $0.count(key) } }

    private func follow(_ key: Key, _ ticket: UInt64) async -> AppleAnswer? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // Cancellation is looked at under the lock: its handler runs after the flag is set, so that either this
                // look sees the flag or the handler finds the follower.
                let mustWait = followers.withLock { followers in
                    !Task.isCancelled && followers.wait(continuation, for: key, ticket: ticket)
                }
                if !mustWait { continuation.resume(returning: nil) }
            }
        } onCancel: {
            let cancelled = followers.withLock { $0.leave(key, ticket: ticket) }
            cancelled?.resume(returning: nil)
        }
    }
}
