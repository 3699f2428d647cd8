import Fulfillment
import Synchronization

/// Sends one request to Apple for submissions in flight that share a proof. The first of them (the leader) sends the
/// request, and the others (its followers) wait for Apple's answer.
final class SharedAnswers: Sendable {
    struct Key: Hashable {
        let proof: Digest256
        /// Each app has its own secret at Apple, so an answer for one app does not serve another app.
        let bundleID: BundleID
    }

    private let followers = Mutex(AnswerFollowers<CheckedContinuation<AppleAnswer?, Never>>())

    /// Runs `ask`, or waits for a leader that already runs it. A follower waits for the whole try of its leader,
    /// including the leader's own wait for its turn at Apple. If the leader is cancelled, its followers get a failure
    /// as the answer, and try again later. A cancelled follower gets a failure at once.
    /// - Parameter waiting: called with true when a follower begins to wait, and with false when the wait ends.
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

    /// Returns the number of followers of this proof's leader.
    func waitingCount(_ key: Key) -> Int { followers.withLock { $0.count(key) } }

    private func follow(_ key: Key, _ ticket: UInt64) async -> AppleAnswer? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // A cancellation sets the task's flag before it calls the handler, which takes the same lock. So if
                // this task does not see the flag, the handler will find the waiting follower.
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
