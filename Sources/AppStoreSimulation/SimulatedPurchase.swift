/// One in-app purchase inside a simulated app receipt.
public struct SimulatedPurchase: Sendable, Hashable, Codable {
    /// The product type. The raw value is the value of the receipt's attribute 1707, which Apple does not document.
    public enum Kind: Int, Sendable, Hashable, Codable, CaseIterable {
        case nonConsumable = 0
        case consumable = 1
        case nonRenewingSubscription = 2
        case autoRenewableSubscription = 3
    }

    /// The value of `in_app_ownership_type`.
    public enum OwnershipType: String, Sendable, Hashable, Codable, CaseIterable {
        case purchased = "PURCHASED"
        case familyShared = "FAMILY_SHARED"
    }

    public let transactionID: String
    public let originalTransactionID: String
    public let productID: String
    /// The units in this one transaction (`SKPayment.quantity`).
    public let quantity: Int
    public let kind: Kind
    /// The purchase time in milliseconds since 1970. The app receipt has it in whole seconds.
    public let purchaseDateMilliseconds: Int64
    public let originalPurchaseDateMilliseconds: Int64
    /// The end of a subscription's period, in milliseconds since 1970; nil for other products.
    public var expiresDateMilliseconds: Int64?
    /// The time of the refund, in milliseconds since 1970; nil without a refund. Apple never shows the refund of a
    /// consumable, but the simulation shows this time for every product.
    public let cancellationDateMilliseconds: Int64?
    public let isTrial: Bool
    public let ownershipType: OwnershipType
    /// The account token; nil without one. Only `latest_receipt_info` shows it, as in Apple's answers.
    public var appAccountToken: String?
    public let webOrderLineItemID: Int64?
    /// The facts that are in Apple's answer and in no receipt; nil if there are none.
    public var told: Told?

    public struct Told: Sendable, Hashable, Codable {
        public var subscriptionGroupID: String?
        public var isUpgraded = false
        public var isInIntroOffer = false
    }

    /// `originalTransactionID` and `originalPurchaseDateMilliseconds` default to the id and the purchase date of this
    /// transaction.
    public init(
        transactionID: String,
        originalTransactionID: String? = nil,
        productID: String,
        quantity: Int = 1,
        kind: Kind = .consumable,
        purchaseDateMilliseconds: Int64 = 1_700_000_000_000,
        originalPurchaseDateMilliseconds: Int64? = nil,
        expiresDateMilliseconds: Int64? = nil,
        cancellationDateMilliseconds: Int64? = nil,
        isTrial: Bool = false,
        ownershipType: OwnershipType = .purchased,
        appAccountToken: String? = nil,
        webOrderLineItemID: Int64? = nil
    ) {
        self.transactionID = transactionID
        self.originalTransactionID = originalTransactionID ?? transactionID
        self.productID = productID
        self.quantity = quantity
        self.kind = kind
        self.purchaseDateMilliseconds = purchaseDateMilliseconds
        self.originalPurchaseDateMilliseconds = originalPurchaseDateMilliseconds ?? purchaseDateMilliseconds
        self.expiresDateMilliseconds = expiresDateMilliseconds
        self.cancellationDateMilliseconds = cancellationDateMilliseconds
        self.isTrial = isTrial
        self.ownershipType = ownershipType
        self.appAccountToken = appAccountToken
        self.webOrderLineItemID = webOrderLineItemID
        told = nil
    }
}
