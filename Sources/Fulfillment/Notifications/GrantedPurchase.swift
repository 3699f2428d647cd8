import NamesAndTimes

/// A grant in the ledger, with the facts for events about the grant.
public struct GrantedPurchase: Sendable, Equatable {
    public let transactionID: StoreTransactionID
    /// The original transaction; nil if another system made the grant and named no original transaction.
    public let originalTransactionID: StoreTransactionID?
    public let player: PlayerID
    public let bundleID: BundleID
    public let productID: ProductID
    public var quantity: Int32
    public let environment: StoreEnvironment
    /// The time of the purchase; nil if another system made the grant and named no time.
    public let purchasedAt: Timestamp?
    public var expiresAt: Timestamp?
    public let submissionID: Identifier
    public var revision: Int32
    public var revocations: GrantRevocations
    /// The bytes of the granted event; nil if another system made the grant.
    public let event: [UInt8]?

    public init(
        transactionID: StoreTransactionID, originalTransactionID: StoreTransactionID?, player: PlayerID,
        bundleID: BundleID, productID: ProductID, quantity: Int32, environment: StoreEnvironment,
        purchasedAt: Timestamp?, expiresAt: Timestamp? = nil, submissionID: Identifier, revision: Int32 = 1,
        revocations: GrantRevocations = GrantRevocations(), event: [UInt8]? = nil
    ) {
        self.transactionID = transactionID
        self.originalTransactionID = originalTransactionID
        self.player = player
        self.bundleID = bundleID
        self.productID = productID
        self.quantity = quantity
        self.environment = environment
        self.purchasedAt = purchasedAt
        self.expiresAt = expiresAt
        self.submissionID = submissionID
        self.revision = revision
        self.revocations = revocations
        self.event = event
    }
    /// The time of the revocation; nil if nothing is revoked.
    public var revokedAt: Timestamp? { revocations.revokedAt }
}
