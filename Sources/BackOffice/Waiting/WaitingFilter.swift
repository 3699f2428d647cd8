import Fulfillment
import Ledger
import NamesAndTimes
import Postgres

/// The reason why a row waits. The members say which columns the table has beside app, reason and age.
public protocol WaitingReason: RawRepresentable<String>, Equatable, Sendable {
    static var hasPlayers: Bool { get }
    static var hasProducts: Bool { get }
}

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

/// Selects held, parked or unclaimed rows. A member that is nil excludes no row.
public struct WaitingFilter<Reason: WaitingReason>: Sendable, Equatable {
    /// The transaction id, or the submission id of parked submissions. Several players may use the same submission id.
    public var id: String?
    public var bundleID: String?
    public var reason: Reason?
    /// The player; nil for any player, and for a list without players.
    public var playerID: String?
    /// The product; nil for any product, and for a list without products.
    public var productID: String?
    /// The latest time at which a row may have begun to wait.
    public var until: Timestamp?

    public init(
        id: String? = nil, bundleID: String? = nil, reason: Reason? = nil, playerID: String? = nil,
        productID: String? = nil, until: Timestamp? = nil
    ) {
        (self.id, self.bundleID, self.reason) = (id, bundleID, reason)
        (self.playerID, self.productID, self.until) = (playerID, productID, until)
    }

    /// The filter in words, as `ConsoleChanges` stores it. It never contains the player's id, because an erasure could
    /// not find the id there.
    public var subject: String {
        id
            ?? ConsoleChanges.subject(
                bundleID: bundleID, reason: reason?.rawValue,
                [
                    playerID.map { _ in "one player's" }, productID.map { "product \($0)" },
                    until.map { "waiting since before \($0.rfc3339)" },
                ])
    }

    var parameters: [PostgresParameter] { [.text(id)] + ofMany }

    /// The parameters of statements that do not select by id.
    var ofMany: [PostgresParameter] {
        [.text(bundleID), .text(reason?.rawValue)] + (Reason.hasPlayers ? [.text(playerID)] : [])
            + (Reason.hasProducts ? [.text(productID)] : []) + [.timestamptz(until)]
    }
}

public typealias HoldFilter = WaitingFilter<Reason>
public typealias ParkedFilter = WaitingFilter<ParkingReason>
public typealias UnclaimedFilter = WaitingFilter<UnclaimedReason>
