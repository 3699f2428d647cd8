/// Keeps retries from multiplying trouble: each costs a token, and each success pays for two.
///
/// While more than half of what is sent succeeds retries are free. Under worse trouble they thin out to a trickle,
/// and when that is over the trickle's successes pay for more of them, doubling with each answer's time.
public struct RetryBudget: Sendable {
    static let capacity = 200.0
    static let paidBySuccess = 2.0
    /// Retries a second that trouble never stops, for recovery must be found.
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

    /// A retry that was paid for was not sent.
    public mutating func withdrew() {
        tokens = min(Self.capacity, tokens + 1)
    }

    /// When the next retry may go at the latest.
    public func nextToken(now: Double) -> Double { now + max(0, 1 - tokens) / Self.reservePerSecond }

    private mutating func fill(_ now: Double) {
        let elapsed = max(0, now - (filledAt ?? now))
        tokens = min(Self.capacity, tokens + elapsed * Self.reservePerSecond)
        filledAt = now
    }
}
