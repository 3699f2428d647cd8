/// Limits retries while Apple is in trouble: each retry costs a token, and each success pays for two.
///
/// Retries are not limited while there is at least one success for every two retries. If nothing succeeds, retries fall
/// to `reservePerSecond`. Once Apple recovers, each successful retry pays for two more. So the rate of retries doubles
/// in the time that Apple takes for one answer.
public struct RetryBudget: Sendable {
    static let capacity = 200.0
    static let paidBySuccess = 2.0
    /// The retries a second that are always allowed, so that the worker notices a recovery.
    static let reservePerSecond = 10.0

    private var tokens = capacity
    private var filledAt: Double?

    public init() {}

    public mutating func take(now: Double) -> Bool {
        fill(now)
        guard tokens >= 1 else { return false }
        tokens -= 1
        return true
    }

    public mutating func succeeded() {
        tokens = min(Self.capacity, tokens + Self.paidBySuccess)
    }

    /// Adds the retry's token to the budget again, because the worker did not send the retry.
    public mutating func withdrew() {
        tokens = min(Self.capacity, tokens + 1)
    }

    /// Returns the time at which there is a token for the next retry.
    func nextToken(now: Double) -> Double { now + max(0, 1 - tokens) / Self.reservePerSecond }

    private mutating func fill(_ now: Double) {
        let elapsed = max(0, now - (filledAt ?? now))
        tokens = min(Self.capacity, tokens + elapsed * Self.reservePerSecond)
        filledAt = now
    }
}
