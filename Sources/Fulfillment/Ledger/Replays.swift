/// The limits for counting replays: submissions for purchases that another player owns. The counts show the players who
/// keep sending receipts of other players.
public enum Replays {
    /// The days over which replays are counted, including today.
    public static let days: Int32 = 30
    /// If a player has at least this many replays in one app, an operator should look at the player. Two game accounts
    /// on one device cause a few replays.
    public static let suspicious: Int32 = 10
}

extension Settlement {
    /// True if another player owns any of the submission's transactions.
    public var isReplay: Bool { outcomes.contains { $0.reason == .ownedByOtherPlayer } }
}
