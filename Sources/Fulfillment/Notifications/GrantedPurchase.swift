/// A grant as it stands in the ledger, with what an event about it has to repeat.
public struct GrantedPurchase: Sendable, Equatable {
    public var transactionID: StoreTransactionID
    /// Nil where another system granted and did not say.
    public var originalTransactionID: StoreTransactionID?
    public var player: PlayerID
    public var bundleID: BundleID
    public var productID: ProductID
    public var quantity: Int32
    public var environment: StoreEnvironment
    /// Nil where another system granted and did not say.
    public var purchasedAt: Timestamp?
    public var expiresAt: Timestamp?
    public var submissionID: Identifier
    public var revision: Int32
    public var revokedAt: Timestamp?
    /// The granted event as it was made; nil where another system granted.
    public var event: [UInt8]?

    public init(
        transactionID: StoreTransactionID, originalTransactionID: StoreTransactionID?, player: PlayerID,
        bundleID: BundleID, productID: ProductID, quantity: Int32, environment: StoreEnvironment,
        purchasedAt: Timestamp?, expiresAt: Timestamp? = nil, submissionID: Identifier, revision: Int32 = 1,
        revokedAt: Timestamp? = nil, event: [UInt8]? = nil
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
        self.revokedAt = revokedAt
        self.event = event
    }
}
