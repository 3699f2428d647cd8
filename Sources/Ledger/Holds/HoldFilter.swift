import Fulfillment
import NamesAndTimes
import Postgres

/// Selects the held transactions that an operator means. Nil means any.
public struct HoldFilter: Sendable, Equatable {
    public var transactionID: StoreTransactionID?
    public var bundleID: String?
    public var reason: Reason?
    public var playerID: String?
    public var productID: String?
    /// The latest time of a hold.
    public var until: Timestamp?

    public init(
        transactionID: StoreTransactionID? = nil, of playerID: String? = nil, bundleID: String? = nil,
        reason: Reason? = nil
    ) {
        self.transactionID = transactionID
        self.playerID = playerID
        self.bundleID = bundleID
        self.reason = reason
    }

    var parameters: [PostgresParameter] { [.text(transactionID?.text)] + ofMany }

    /// The parameters without the transaction.
    var ofMany: [PostgresParameter] {
        [.text(bundleID), .text(reason?.rawValue), .text(playerID), .text(productID), .timestamptz(until)]
    }
}
