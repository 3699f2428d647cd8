/// Chooses a few refused receipts, evenly over time, to ask Apple about afterwards. A flood of forgeries costs no more
/// of Apple's budget than one. Pure; times are monotonic seconds.
public struct RefusalSampling: Sendable {
    /// The seconds between two checks of one player's receipts. One forger must not take all of them.
    static let secondsOfPlayer = 60.0

    /// The seconds between two checks; nil if nothing is checked.
    private let spacing: Double?
    private var dueAt = -Double.infinity
    private var players: [PlayerID: Double] = [:]

    public init(perMinute: Int) {
        spacing = perMinute > 0 ? 60 / Double(perMinute) : nil
    }

    /// Returns whether a check may begin, whoever the player is.
    public func isDue(now: Double) -> Bool { spacing != nil && now >= dueAt }

    /// Returns whether a check of this player's receipt begins now.
    public mutating func take(_ player: PlayerID, now: Double) -> Bool {
        guard let spacing, isDue(now: now) else { return false }
        players = players.filter { now - $0.value < Self.secondsOfPlayer }
        guard players[player] == nil else { return false }
        players[player] = now
        dueAt = now + spacing
        return true
    }
}
