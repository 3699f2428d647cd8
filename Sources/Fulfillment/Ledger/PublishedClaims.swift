import NamesAndTimes

/// Whose a purchase is, as a published `receipt.granted` tells.
public struct PublishedClaim: Sendable, Equatable {
    public let originalTransactionID: StoreTransactionID
    public let transactionID: StoreTransactionID
    public let playerID: PlayerID
    public let bundleID: BundleID

    public init(
        originalTransactionID: StoreTransactionID, transactionID: StoreTransactionID, playerID: PlayerID,
        bundleID: BundleID
    ) {
        self.originalTransactionID = originalTransactionID
        self.transactionID = transactionID
        self.playerID = playerID
        self.bundleID = bundleID
    }

    /// A consumable is owned by its transaction, which is its original too: its claim names it.
    public var grantedTransactionID: StoreTransactionID? {
        originalTransactionID == transactionID ? transactionID : nil
    }
}

/// A fall back of the database whose published claims are not entered again yet.
public struct LostClaims: Sendable, Equatable {
    /// A time of the state that the database fell back to, or an earlier one.
    public let since: Timestamp
    /// When the fall was noticed, by the database's clock.
    public let noticedAt: Timestamp

    public init(since: Timestamp, noticedAt: Timestamp) {
        self.since = since
        self.noticedAt = noticedAt
    }
}

/// Enters claims that a database lost when it fell back to an earlier state.
public protocol PublishedClaims: Sendable {
    /// A claim that somebody has stays as it is. Entering one again changes nothing. Throws where the database is out of reach.
    /// - Parameter claims: each original transaction once, sorted by it.
    func enter(_ claims: [PublishedClaim]) async throws
}
