import Fulfillment
import Ledger
import NamesAndTimes
import Postgres

/// The reason why a row waits, and the columns by which its list can be filtered besides app, reason and age.
public protocol WaitingReason: RawRepresentable<String>, Equatable, Sendable {
    static var hasPlayers: Bool { get }
    static var hasProducts: Bool { get }
}

/// Holds have both players and products.
extension Reason: WaitingReason {
    public static var hasPlayers: Bool { true }
    public static var hasProducts: Bool { true }
}

extension ParkingReason: WaitingReason {
    public static var hasPlayers: Bool { true }
    public static var hasProducts: Bool { false }
}

extension UnclaimedReason: WaitingReason {
    public static var hasPlayers: Bool { false }
    public static var hasProducts: Bool { true }
}

/// A filter of held, parked or unclaimed rows. A member that is nil admits every row.
public struct WaitingFilter<Reason: WaitingReason>: Sendable, Equatable {
    /// The transaction id; for parked submissions the submission id, which several players may have chosen.
    public var id: String?
    public var bundleID: String?
    public var reason: Reason?
    /// The player. Nil for any player, and for lists without players.
    public var playerID: String?
    /// The product. Nil for any product, and for lists without products.
    public var productID: String?
    /// The latest time at which a row began to wait.
    public var until: Timestamp?

    public init(
        id: String? = nil, bundleID: String? = nil, reason: Reason? = nil, playerID: String? = nil,
        productID: String? = nil, until: Timestamp? = nil
    ) {
        (self.id, self.bundleID, self.reason) = (id, bundleID, reason)
        (self.playerID, self.productID, self.until) = (playerID, productID, until)
    }

    /// The filter in words, as `ConsoleChanges` stores it with a change. That row outlives the player and does not name
    /// the player.
    public var subject: String {
        id
            ?? ConsoleChanges.subject(
                bundleID: bundleID, reason: reason?.rawValue,
                [
                    playerID.map { _ in "one player's" }, productID.map { "product \($0)" },
                    until.map { "since before \($0.rfc3339)" },
                ])
    }

    var parameters: [PostgresParameter] { [.text(id)] + ofMany }

    /// The parameters without the id.
    var ofMany: [PostgresParameter] {
        [.text(bundleID), .text(reason?.rawValue)] + (Reason.hasPlayers ? [.text(playerID)] : [])
            + (Reason.hasProducts ? [.text(productID)] : []) + [.timestamptz(until)]
    }
}

public typealias HoldFilter = WaitingFilter<Reason>
public typealias ParkedFilter = WaitingFilter<ParkingReason>
public typealias UnclaimedFilter = WaitingFilter<UnclaimedReason>
