import Fulfillment

/// What was tried for one submission so far.
struct AttemptHistory {
    /// However short the operator sets the delays, Apple and the processor get this much rest. Seconds.
    static let minimumDelay = 0.01
    /// The longest wait before an app's credentials are looked at again. Most such looks ask Apple nothing. Seconds.
    static let maximumBlockedDelay = 10.0

    private(set) var failures = 0
    /// How often each answer that Apple may take back was given.
    private(set) var doubts: [Reason: Int] = [:]

    /// Seconds until the next try.
    mutating func delay(after judgement: Judgement, retry: RetryDelay, now: Timestamp) -> Double {
        switch judgement {
        case .doubtful(let reason):
            doubts[reason, default: 0] += 1
            return retry.inDoubt
        case .undecided(let trouble):
            failures += 1
            let jittered = retry.afterTrouble(failures: failures, jitter: Double.random(in: 0..<1))
            guard let notBefore = trouble.retryNotBefore else { return max(jittered, Self.minimumDelay) }
            return max(jittered, Self.minimumDelay, Double(notBefore.milliseconds - now.milliseconds) / 1000)
        case .blocked, .decided:
            failures += 1
            let jittered = retry.afterTrouble(failures: failures, jitter: Double.random(in: 0..<1))
            return min(max(Self.minimumDelay, jittered), Self.maximumBlockedDelay)
        }
    }
}
