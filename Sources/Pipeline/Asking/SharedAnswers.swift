import Fulfillment
import Synchronization

/// Asks Apple once for a proof that two submissions in flight share. The second submission (the follower) waits for the
/// answer of the first (the leader).
final class SharedAnswers: Sendable {
    struct Key: Hashable {
        let proof: Digest256
        /// The app. Each app has its own secret, so an answer for one app does not serve another.
        let bundleID: BundleID
    }

    private let followers = Mutex(AnswerFollowers<CheckedContinuation<AppleAnswer?, Never>>())

    /// Runs `ask`, or waits for the leader that already runs it. A follower waits as long as the leader's try takes,
    /// including its wait for a turn at Apple. A cancelled leader gives its followers trouble as the answer, and they
    /// try again. A cancelled follower ends in trouble at once.
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

    /// Returns the number of followers that wait for the answer.
    func waitingCount(_ key: Key) -> Int { followers.withLock { $0.count(key) } }

    private func follow(_ key: Key, _ ticket: UInt64) async -> AppleAnswer? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // The flag is read under the lock. The cancellation handler runs after the flag is set, so either this
                // task sees the flag or the handler finds the follower.
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
