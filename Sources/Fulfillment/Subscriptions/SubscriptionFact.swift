import NamesAndTimes

/// The state of a subscription, by Apple's definitions.
public enum SubscriptionState: String, Sendable, CaseIterable {
    case active
    case gracePeriod = "grace_period"
    case billingRetry = "billing_retry"
    case expired
    case revoked

    /// Makes the state from Apple's `status`, in an answer of the endpoint "Get All Subscription Statuses" or in a
    /// notification's `data`; nil if the status is unknown.
    public init?(status: Int64) {
        switch status {
        case 1: self = .active
        case 2: self = .expired
        case 3: self = .billingRetry
        case 4: self = .gracePeriod
        case 5: self = .revoked
        default: return nil
        }
    }
}

/// The facts about a subscription in one answer of Apple's, or in one piece of data that Apple signed.
public struct SubscriptionFact: Sendable, Equatable {
    public let originalTransactionID: StoreTransactionID
    public let bundleID: BundleID
    public let environment: StoreEnvironment
    public var productID: ProductID
    public var subscriptionGroupID: String?
    public var state: SubscriptionState
    public var expiresAt: Timestamp?
    public var graceExpiresAt: Timestamp?
    /// True if the subscription will renew; nil to keep the known value.
    public var willRenew: Bool?
    /// The product of the next period; nil to keep the known value.
    public var renewalProductID: ProductID?
    /// The time at which Apple signed the fact, or the time of Apple's answer. An older fact never replaces a newer
    /// fact.
    public var toldAt: Timestamp
    /// The beginning of the period that `state`, `productID` and the times describe; nil for the known period.
    public var periodBeganAt: Timestamp?
    /// True if the fact describes only one period. A fact about the whole subscription takes precedence over such a
    /// fact.
    public var isOfPeriodOnly = false
    /// The original transaction of the earlier subscription that this subscription continues; nil if Apple named none.
    /// Both subscriptions have one owner.
    public var previousOriginalTransactionID: StoreTransactionID?

    public init(
        originalTransactionID: StoreTransactionID, bundleID: BundleID, environment: StoreEnvironment,
        productID: ProductID, state: SubscriptionState, toldAt: Timestamp
    ) {
        self.originalTransactionID = originalTransactionID
        self.bundleID = bundleID
        self.environment = environment
        self.productID = productID
        self.state = state
        self.toldAt = toldAt
    }

    /// Returns whether the fact is about the period of `purchase`.
    public func isOfPeriod(of purchase: StorePurchase) -> Bool {
        purchase.originalTransactionID == originalTransactionID && purchase.purchasedAt == periodBeganAt
    }
}
