/// Submissions for purchases that another player owns, counted by player: who keeps sending others' receipts.
public enum Replays {
    /// Days over which they are counted, the present one too.
    public static let days: Int32 = 30
    /// The number of one player's replays in one app that is worth a look. Two game accounts on one device bring about
    /// a few.
    public static let suspicious: Int32 = 10
}

extension Settlement {
    /// True if another player owns any of the submission's transactions.
    public var isReplay: Bool { outcomes.contains { $0.reason == .ownedByOtherPlayer } }
}
