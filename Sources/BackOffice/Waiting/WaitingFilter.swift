import Fulfillment
import Ledger
import NamesAndTimes
import Postgres

/// Why a row of a list waits, and what its list is filtered by besides app, reason and age.
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
    /// A transaction's; of what is parked a submission's, as it is shown and stored: several players may have chosen the same.
    public var id: String?
    public var bundleID: String?
    public var reason: Reason?
    /// Nil where the list has no players.
    public var playerID: String?
    /// Nil where the list has no products.
    public var productID: String?
    /// The latest time since when a row waits.
    public var until: Timestamp?

    public init(
        id: String? = nil, bundleID: String? = nil, reason: Reason? = nil, playerID: String? = nil,
        productID: String? = nil, until: Timestamp? = nil
    ) {
        (self.id, self.bundleID, self.reason) = (id, bundleID, reason)
        (self.playerID, self.productID, self.until) = (playerID, productID, until)
    }

    /// The filter in words, as a change's entry stores it. The entry outlives the player and does not name the player.
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

    /// Without the id.
    var ofMany: [PostgresParameter] {
        [.text(bundleID), .text(reason?.rawValue)] + (Reason.hasPlayers ? [.text(playerID)] : [])
            + (Reason.hasProducts ? [.text(productID)] : []) + [.timestamptz(until)]
    }
}

public typealias HoldFilter = WaitingFilter<Reason>
public typealias ParkedFilter = WaitingFilter<ParkingReason>
public typealias UnclaimedFilter = WaitingFilter<UnclaimedReason>
