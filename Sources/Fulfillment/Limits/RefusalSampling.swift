/// Chooses a few receipts that receiptd refused, evenly over time, for a later check with Apple. So a flood of
/// forgeries takes little of Apple's budget. Times are monotonic seconds.
public struct RefusalSampling: Sendable {
    /// The seconds between two checks of one player's receipts, so that one forger does not take every check.
    static let secondsOfPlayer = 60.0

    /// The seconds between two checks; nil if no receipt is checked.
    private let spacing: Double?
    private var dueAt = -Double.infinity
    private var players: [PlayerID: Double] = [:]

    public init(perMinute: Int) {
        spacing = perMinute > 0 ? 60 / Double(perMinute) : nil
    }

    /// Returns whether a check of some player's receipt may begin.
    public func isDue(now: Double) -> Bool { spacing != nil && now >= dueAt }

    /// Takes a check for this player's receipt. Returns false if none may begin now.
    public mutating func take(_ player: PlayerID, now: Double) -> Bool {
        guard let spacing, isDue(now: now) else { return false }
        players = players.filter { now - $0.value < Self.secondsOfPlayer }
        guard players[player] == nil else { return false }
        players[player] = now
        dueAt = now + spacing
        return true
    }
}
