/// Chooses a few of the receipts that receiptd refused, evenly over time. A worker later checks the chosen receipts
/// with Apple. So a flood of forgeries uses little of the request budget. Times are monotonic seconds.
public struct RefusalSampling: Sendable {
    /// The seconds between two checks of one player's receipts, so that one forger does not use up all checks.
    static let secondsOfPlayer = 60.0

    /// The seconds between two checks; nil if no receipt is checked.
    private let spacing: Double?
    private var dueAt = -Double.infinity
    private var players: [PlayerID: Double] = [:]

    public init(perMinute: Int) {
        spacing = perMinute > 0 ? 60 / Double(perMinute) : nil
    }

    /// Returns whether the next check may begin. `take` decides whether it may be a check of a given player's receipt.
    public func isDue(now: Double) -> Bool { spacing != nil && now >= dueAt }

    /// Begins a check of this player's receipt, and returns true. Returns false if no check of it may begin now.
    public mutating func take(_ player: PlayerID, now: Double) -> Bool {
        guard let spacing, isDue(now: now) else { return false }
        players = players.filter { now - $0.value < Self.secondsOfPlayer }
        guard players[player] == nil else { return false }
        players[player] = now
        dueAt = now + spacing
        return true
    }
}
