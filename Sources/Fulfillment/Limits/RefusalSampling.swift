/// Chooses a few of the receipts that receiptd refused: the first ones, up to a set number in any 60 seconds. A worker
/// later checks the chosen receipts with Apple. So a flood of forgeries uses little of the request budget. Times are
/// monotonic seconds.
public struct RefusalSampling: Sendable {
    /// The length of the window in seconds. In a window a worker checks at most the set number of receipts, and at most
    /// one receipt of each player. So one forger does not use up all checks.
    static let windowSeconds = 60.0

    /// The most checks in a window, and so the most checks to remember; 0 if no worker checks receipts.
    private let perMinute: Int
    /// The times of the checks of the last 60 seconds or longer, the oldest first.
    private var times: [Double] = []
    /// The players of these checks, in the same order.
    private var players: [PlayerID] = []

    public init(perMinute: Int) { self.perMinute = max(perMinute, 0) }

    /// Returns whether the next check may begin, for at least some players. `take` decides for one player.
    public func isDue(now: Double) -> Bool {
        guard times.count >= perMinute else { return true }
        return times.first.map { now - $0 >= Self.windowSeconds } ?? false
    }

    /// Begins a check of this player's receipt, and returns true. Returns false if no check of this player's receipt
    /// may begin now.
    public mutating func take(_ player: PlayerID, now: Double) -> Bool {
        guard isDue(now: now) else { return false }
        let past = times.prefix { now - $0 >= Self.windowSeconds }.count
        times.removeFirst(past)
        players.removeFirst(past)
        guard !players.contains(player) else { return false }
        times.append(now)
        players.append(player)
        return true
    }
}
