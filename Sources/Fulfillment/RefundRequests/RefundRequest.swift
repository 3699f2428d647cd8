import NamesAndTimes

/// A player's request to Apple for a refund. Apple asks receiptd about the request in a notification
/// (`CONSUMPTION_REQUEST`).
public struct RefundRequest: Sendable, Equatable {
    /// The milliseconds after Apple's `signedDate` in which Apple accepts an answer: twelve hours.
    public static let answerMilliseconds: Int64 = 12 * 3_600_000

    /// The notification's UUID.
    public let id: Identifier
    public let transactionID: StoreTransactionID
    public let originalTransactionID: StoreTransactionID
    public let bundleID: BundleID
    public let environment: StoreEnvironment
    public let productID: ProductID
    /// The product's type that Apple signed; nil if Apple signed none.
    public var kind: ProductKind?
    /// The id of the subscription period that the purchase pays for; nil if it pays for none. The ledger may have
    /// granted the period under another transaction's id.
    public var period: StoreTransactionID?
    /// Apple's `consumptionRequestReason`; nil if Apple names none.
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
