/// Chooses the refused receipts that are put to Apple afterwards: a few, evenly over time, so that a flood of forgeries
/// costs no more of Apple's budget than one of them. Pure; seconds are monotonic.
public struct RefusalSampling: Sendable {
    /// The seconds between two checks of one player's receipts: a forger shall not take all of them.
    static let secondsOfPlayer = 60.0

    /// Nil where nothing is checked.
    private let spacing: Double?
    private var dueAt = -Double.infinity
    private var players: [PlayerID: Double] = [:]

    public init(perMinute: Int) {
        spacing = perMinute > 0 ? 60 / Double(perMinute) : nil
    }

    /// Whether a check may begin, of some player's.
    public func isDue(now: Double) -> Bool { spacing != nil && now >= dueAt }

    /// Whether a check of this player's begins now.
    public mutating func take(_ player: PlayerID, now: Double) -> Bool {
        guard let spacing, isDue(now: now) else { return false }
        players = players.filter { now - $0.value < Self.secondsOfPlayer }
        guard players[player] == nil else { return false }
        players[player] = now
        dueAt = now + spacing
        return true
    }
}
