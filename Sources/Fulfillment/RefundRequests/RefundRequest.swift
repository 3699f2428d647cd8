import NamesAndTimes

/// A player asks Apple for a refund, and Apple asks what became of the purchase (`CONSUMPTION_REQUEST`).
public struct RefundRequest: Sendable, Equatable {
    /// The time that Apple takes an answer, from `signedDate` on. Milliseconds: twelve hours.
    public static let answerMilliseconds: Int64 = 12 * 3_600_000

    /// The notification's UUID.
    public let id: Identifier
    public let transactionID: StoreTransactionID
    public let originalTransactionID: StoreTransactionID
    public let bundleID: BundleID
    public let environment: StoreEnvironment
    public let productID: ProductID
    /// The product's type that Apple signed; nil without one.
    public var kind: ProductKind?
    /// The id of the period that it is about, nil where it is about none: the period may be in the ledger under another id.
    public var period: StoreTransactionID?
    /// Apple's `consumptionRequestReason`.
    public let reason: String?
    public let signedAt: Timestamp

    public init(
        id: Identifier, transactionID: StoreTransactionID, originalTransactionID: StoreTransactionID,
        bundleID: BundleID, environment: StoreEnvironment, productID: ProductID, kind: ProductKind? = nil,
        period: StoreTransactionID? = nil, reason: String?, signedAt: Timestamp
    ) {
        self.id = id
        self.transactionID = transactionID
        self.originalTransactionID = originalTransactionID
        self.bundleID = bundleID
        self.environment = environment
        self.productID = productID
        self.kind = kind
        self.period = period
        self.reason = reason
        self.signedAt = signedAt
    }

    public var answerBy: Timestamp { Timestamp(milliseconds: signedAt.milliseconds + Self.answerMilliseconds) }
}
