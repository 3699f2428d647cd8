import Fulfillment
import Synchronization

/// The same proof in flight twice asks Apple once: the second waits for the first one's answer.
final class SharedAnswers: Sendable {
    struct Key: Hashable {
        let proof: Digest256
        /// Apps have secrets of their own, so that one's answer is not another's.
        let bundleID: BundleID
    }

    private struct Followers {
        var next = 0
        var waiting: [Int: CheckedContinuation<AppleAnswer?, Never>] = [:]
    }

    private let followers = Mutex<[Key: Followers]>([:])

    /// Runs `ask`, or waits for whoever runs it already: as long as the leader's try takes, its wait in front of Apple
    /// included. A leader that is cancelled hands on trouble, and its followers try again; a follower that is cancelled
    /// ends in trouble at once.
    /// - Parameter waiting: told as a follower's wait begins (true) and ends.
    func answer(
        for key: Key, waiting: (Bool) -> Void = { _ in }, ask: () async -> AppleAnswer
    ) async -> AppleAnswer {
        while let ticket = ticket(key) {
            waiting(true)
            let shared = await follow(key, ticket)
            waiting(false)
            if let shared { return shared }
            if Task.isCancelled { return .trouble(.init(.connection)) }
        }
        let answer = await ask()
        for follower in followers.withLock({ $0.removeValue(forKey: key)?.waiting.values }) ?? [:].values {
            follower.resume(returning: answer)
        }
        return answer
    }

    /// Who waits for the answer of another.
    func waitingCount(_ key: Key) -> Int { followers.withLock { $0[key]?.waiting.count ?? 0 } }

    /// A follower's ticket, nil for the leader.
    private func ticket(_ key: Key) -> Int? {
        followers.withLock { followers in
            guard let next = followers[key]?.next else {
                followers[key] = Followers()
                return nil
            }
            followers[key]?.next += 1
            return next
        }
    }

    private func follow(_ key: Key, _ ticket: Int) async -> AppleAnswer? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = followers.withLock { followers in
                    if followers[key] == nil || Task.isCancelled { return true }
                    followers[key]?.waiting[ticket] = continuation
                    return false
                }
                if isOver { continuation.resume(returning: nil) }
            }
        } onCancel: {
            let cancelled = followers.withLock { $0[key]?.waiting.removeValue(forKey: ticket) }
            cancelled?.resume(returning: nil)
        }
    }
}
