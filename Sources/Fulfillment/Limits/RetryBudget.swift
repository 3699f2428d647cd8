/// Limits retries while Apple is in trouble: each retry costs a token, and each success pays for two.
///
/// While more than half of the requests succeed, retries are not limited. If fewer succeed, retries fall to
/// `reservePerSecond`. Once Apple recovers, the successes of retries pay for more retries: in the time that Apple takes
/// for one answer, the rate of retries doubles.
public struct RetryBudget: Sendable {
    static let capacity = 200.0
    static let paidBySuccess = 2.0
    /// The retries a second that are always allowed, so that a recovery is noticed.
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

    /// Gives back the token of a retry that was not sent.
    public mutating func withdrew() {
        tokens = min(Self.capacity, tokens + 1)
    }

    /// Returns the time by which a token for the next retry exists.
    func nextToken(now: Double) -> Double { now + max(0, 1 - tokens) / Self.reservePerSecond }

    private mutating func fill(_ now: Double) {
        let elapsed = max(0, now - (filledAt ?? now))
        tokens = min(Self.capacity, tokens + elapsed * Self.reservePerSecond)
        filledAt = now
    }
}
