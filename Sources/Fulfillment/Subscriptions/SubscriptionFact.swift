import NamesAndTimes

/// The state of a subscription, as Apple defines states.
public enum SubscriptionState: String, Sendable, CaseIterable {
    case active
    case gracePeriod = "grace_period"
    case billingRetry = "billing_retry"
    case expired
    case revoked

    /// Makes the state from Apple's `status` in Get All Subscription Statuses or in a notification's `data`; nil if the
    /// status is unknown.
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

/// The facts about a subscription in one answer of Apple's, or in one part that Apple signed.
public struct SubscriptionFact: Sendable, Equatable {
    public let originalTransactionID: StoreTransactionID
    public let bundleID: BundleID
    public let environment: StoreEnvironment
    public var productID: ProductID
    public var subscriptionGroupID: String?
    public var state: SubscriptionState
    public var expiresAt: Timestamp?
    public var graceExpiresAt: Timestamp?
    /// True if the subscription will renew; nil keeps the known value.
    public var willRenew: Bool?
    /// The product of the next period; nil keeps the known value.
    public var renewalProductID: ProductID?
    /// The time at which Apple signed the fact or answered. An older fact never undoes a newer one.
    public var toldAt: Timestamp
    /// The beginning of the period that `state`, `productID` and the times describe; nil means the known period.
    public var periodBeganAt: Timestamp?
    /// True if the fact describes one period only. Facts about the whole subscription count before this one.
    public var isOfPeriodOnly = false
    /// The original transaction of the earlier subscription that this one continues; nil if Apple named none. Both have
    /// the same owner.
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
