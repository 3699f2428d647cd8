import NamesAndTimes

public enum StoreEnvironment: String, Sendable, CaseIterable {
    case production = "Production"
    case sandbox = "Sandbox"
}

/// One transaction as Apple describes it.
public struct StorePurchase: Sendable, Equatable {
    public let transactionID: StoreTransactionID
    public let originalTransactionID: StoreTransactionID
    public let productID: ProductID
    /// The quantity, at least 1. One transaction can buy several units of a consumable.
    public var quantity: Int32
    public var purchasedAt: Timestamp
    public var expiresAt: Timestamp?
    public var cancelledAt: Timestamp?
    public var ownership: Ownership
    /// True for a period that the player gave up for another plan. The cancellation date of an upgraded period does not
    /// mean a refund.
    public var isUpgraded = false
    /// The product's type; nil if Apple signed no type. Receipts have none.
    public var type: PurchaseType?
    /// Apple's `appAccountToken` in lower case; nil without a token.
    public var appAccountToken: String?
    /// The currency in upper case; nil if Apple names none.
    public var currency: String?
    private var details = Details()
    /// Apple's facts that no rule reads; nil if there are none.
    public var told: PurchaseFacts?
    /// Apple's `appTransactionId`, one for each Apple account in an app; nil if Apple gives none.
    public var appTransactionID: AppTransactionID?

    public init(
        transactionID: StoreTransactionID, originalTransactionID: StoreTransactionID, productID: ProductID,
        quantity: Int32 = 1, purchasedAt: Timestamp, expiresAt: Timestamp? = nil, cancelledAt: Timestamp? = nil,
        isFamilyShared: Bool = false, appAccountToken: String? = nil, currency: String? = nil,
        appTransactionID: AppTransactionID? = nil
    ) {
        self.transactionID = transactionID
        self.originalTransactionID = originalTransactionID
        self.productID = productID
        self.quantity = quantity
        self.purchasedAt = purchasedAt
        self.expiresAt = expiresAt
        self.cancelledAt = cancelledAt
        ownership = isFamilyShared ? .familyShared : .purchased
        self.appAccountToken = appAccountToken
        self.currency = currency
        self.appTransactionID = appTransactionID
    }

    /// The time of a restored copy's first purchase; nil for every other purchase, or if Apple gives no readable time.
    public var originalPurchasedAt: Timestamp? {
        get { details.originalPurchasedAt }
        set { details.originalPurchasedAt = newValue }
    }

    /// The refunded share in thousandths of a percent; nil if Apple names none. A refund without a share covers the
    /// whole purchase.
    public var refundedMilliPercent: Int32? {
        get { details.refundedMilliPercent }
        set { details.refundedMilliPercent = newValue }
    }

    /// Apple's `revocationType`, such as `REFUND_PRORATED`; nil if Apple names none.
    public var revocationType: String? {
        get { details.revocationType }
        set { details.revocationType = newValue }
    }

    /// The group of an auto-renewable subscription; nil if Apple names none.
    public var subscriptionGroupID: String? {
        get { details.subscriptionGroupID }
        set { details.subscriptionGroupID = newValue }
    }

    /// The original transaction of the earlier subscription that the purchase's subscription continues; nil if Apple
    /// names none.
    public var previousOriginalTransactionID: StoreTransactionID? {
        get { details.previousOriginalTransactionID }
        set { details.previousOriginalTransactionID = newValue }
    }

    /// Apple's `webOrderLineItemId`, which is the same for all transactions of a period; nil if Apple names none.
    public var webOrderLineItemID: Identifier? {
        get { details.webOrderLineItemID }
        set { details.webOrderLineItemID = newValue.flatMap(Self.lineItem) }
    }

    /// Returns the id without leading zeros, because a receipt has the id as a number. Returns nil for zero, which a
    /// receipt has in place of an absent id.
    private static func lineItem(_ told: Identifier) -> Identifier? {
        guard told.text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return told }
        let digits = told.text.drop { $0 == "0" }
        return digits.isEmpty ? nil : Identifier(String(digits))
    }

    /// Apple's names of the facts that receiptd cannot read. receiptd does not grant a purchase with an unreadable
    /// fact. The property of an unreadable fact has a meaningless value.
    public var unreadable: [String] {
        get { details.unreadable }
        set { details.unreadable = newValue }
    }

    /// True if receiptd cannot read the purchase time, so that `purchasedAt` is meaningless.
    public var hasUnreadablePurchaseTime: Bool { isUnreadable("purchaseDate", "purchase_date_ms") }

    public func isUnreadable(_ names: String...) -> Bool { unreadable.contains { names.contains($0) } }

    /// The fields that most purchases lack.
    private struct Details: Sendable, Equatable {
        var originalPurchasedAt: Timestamp?
        var refundedMilliPercent: Int32?
        var revocationType: String?
        var subscriptionGroupID: String?
        var previousOriginalTransactionID: StoreTransactionID?
        var webOrderLineItemID: Identifier?
        var unreadable: [String] = []
    }

    public var isFamilyShared: Bool { ownership == .familyShared }

    /// True if the purchase is a restored non-consumable. Only a restored non-consumable has a different original
    /// transaction and no paid period.
    public var isRestoredCopy: Bool {
        transactionID != originalTransactionID && expiresAt == nil && webOrderLineItemID == nil
    }

    /// Returns whether receiptd decides and publishes `left` before `right`. The order is by `purchasedAt`, then by the
    /// bytes of the id.
    public static func isBefore(_ left: StorePurchase, _ right: StorePurchase) -> Bool {
        left.purchasedAt != right.purchasedAt
            ? left.purchasedAt < right.purchasedAt : left.transactionID < right.transactionID
    }
}

/// Apple's `inAppOwnershipType`. If it is absent, the purchase counts as `purchased`.
public enum Ownership: String, Sendable, CaseIterable {
    case purchased = "PURCHASED"
    case familyShared = "FAMILY_SHARED"
    /// A value that receiptd does not know.
    case other

    public init(claim: String) {
        self = [Ownership.purchased, .familyShared].first { $0.rawValue == claim } ?? .other
    }
}

/// Apple's `type` of a product, which Apple signs with each transaction.
public enum PurchaseType: Sendable, Equatable {
    case known(ProductKind)
    /// A type that receiptd does not know. No catalog can name it.
    case other

    public var kind: ProductKind? {
        if case .known(let kind) = self { kind } else { nil }
    }
}

/// Evidence: a receipt or a transaction that Apple vouches for. The evidence may list no purchase.
public struct GenuineReceipt: Sendable, Equatable {
    public var bundleID: BundleID
    /// Apple's number of the app; nil or 0 if Apple names none. Apple names none in the sandbox.
    public var appAppleID: Int64?
    public var environment: StoreEnvironment
    /// The purchases in purchase order, one for each transaction id.
    public var purchases: [StorePurchase]
    /// The transactions in `latest_receipt_info` that `in_app` lacks; empty if `in_app` lists no purchase.
    public var listedLater: Set<StoreTransactionID> = []
    /// The purchases without a readable id or product. receiptd can grant none of them.
    public var nameless: [NamelessPurchase] = []
    /// True for status 21006: the one subscription period of an iOS 6 receipt is over.
    public var isExpiredSubscription: Bool
    /// True if the receipt has an auto-renewable subscription. Apple's later answers about the receipt may list new
    /// periods, so receiptd must not remember this answer.
    public var holdsAutoRenewable: Bool
    /// The time of verifyReceipt's answer; nil for a transaction that Apple signed.
    public var answeredAt: Timestamp?
    /// The subscriptions' renewal infos in verifyReceipt's answer (`pending_renewal_info`).
    public var renewals: [RenewalInfo] = []
    /// `latest_receipt` in base64: the newest version of the receipt, with all later periods; nil for a receipt without
    /// subscriptions.
    public var latestReceipt: String?
    /// The time at which Apple made the receipt; nil for a single transaction, or if unknown.
    public var createdAt: Timestamp?

    public init(
        bundleID: BundleID, appAppleID: Int64? = nil, environment: StoreEnvironment, purchases: [StorePurchase],
        isExpiredSubscription: Bool = false, holdsAutoRenewable: Bool = false, createdAt: Timestamp? = nil
    ) {
        self.bundleID = bundleID
        self.appAppleID = appAppleID
        self.environment = environment
        self.purchases = Self.inOrder(purchases)
        self.isExpiredSubscription = isExpiredSubscription
        self.holdsAutoRenewable = holdsAutoRenewable
        self.createdAt = createdAt
    }

    /// True if receiptd could read every purchase. receiptd does not remember an answer with unreadable parts, because
    /// receiptd's next version may be able to read them.
    public var isReadable: Bool { nameless.isEmpty && purchases.allSatisfy(\.unreadable.isEmpty) }

    private static func inOrder(_ purchases: [StorePurchase]) -> [StorePurchase] {
        // Most receipts have one purchase.
        guard purchases.count > 1 else { return purchases }
        var seen: Set<StoreTransactionID> = []
        return purchases.filter { seen.insert($0.transactionID).inserted }.sorted(by: StorePurchase.isBefore)
    }
}
