import Fulfillment
import Synchronization

/// The same proof in flight twice asks Apple once: the second waits for the first one's answer.
final class SharedAnswers: Sendable {
    struct Key: Hashable {
        let proof: Digest256
        /// Apps have secrets of their own, so that one's answer is not another's.
        let bundleID: BundleID
    }

    private let followers = Mutex<[Key: [CheckedContinuation<AppleAnswer?, Never>]]>([:])

    /// Runs `ask`, or waits for whoever runs it already. A follower's wait is as long as the leader's try, which the
    /// request's time-out bounds; a leader that is cancelled hands on trouble, and its followers try again.
    func answer(for key: Key, ask: () async -> AppleAnswer) async -> AppleAnswer {
        while !lead(key) {
            let shared = await withCheckedContinuation { continuation in
                let isOver = followers.withLock { followers in
                    if followers[key] == nil { return true }
                    followers[key]?.append(continuation)
                    return false
                }
                if isOver { continuation.resume(returning: nil) }
            }
            if let shared { return shared }
        }
        let answer = await ask()
        for follower in followers.withLock({ $0.removeValue(forKey: key) ?? [] }) { follower.resume(returning: answer) }
        return answer
    }

    /// Who waits for the answer of another.
    func waitingCount(_ key: Key) -> Int { followers.withLock { $0[key]?.count ?? 0 } }

    private func lead(_ key: Key) -> Bool {
        followers.withLock { followers in
            if followers[key] != nil { return false }
            followers[key] = []
            return true
        }
    }
}
