/// One in-app purchase inside a simulated app receipt.
public struct SimulatedPurchase: Sendable, Hashable, Codable {
    /// The product type; the raw value is Apple's attribute 1707 (not documented by Apple).
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
    /// The purchase time in milliseconds since 1970. An app receipt has whole seconds and drops the rest.
    public let purchaseDateMilliseconds: Int64
    public let originalPurchaseDateMilliseconds: Int64
    /// The end of a subscription's period, in milliseconds since 1970; nil for everything else.
    public var expiresDateMilliseconds: Int64?
    /// The time of the refund, in milliseconds since 1970; nil without a refund. Apple never shows the time for a
    /// consumable; the simulation shows it.
    public let cancellationDateMilliseconds: Int64?
    public let isTrial: Bool
    public let ownershipType: OwnershipType
    /// The account token, which only `latest_receipt_info` shows, as at Apple; nil without one.
    public var appAccountToken: String?
    public let webOrderLineItemID: Int64?
    /// The facts that are in Apple's answer but in no receipt; nil without any.
    public var told: Told?

    public struct Told: Sendable, Hashable, Codable {
        public var subscriptionGroupID: String?
        public var isUpgraded = false
        public var isInIntroOffer = false
    }

    /// `originalTransactionID` and `originalPurchaseDateMilliseconds` default to the transaction's own.
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
