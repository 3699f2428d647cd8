import NamesAndTimes

/// The state of a subscription in Apple's words.
public enum SubscriptionState: String, Sendable, CaseIterable {
    case active
    case gracePeriod = "grace_period"
    case billingRetry = "billing_retry"
    case expired
    case revoked

    /// Apple's `status` of Get All Subscription Statuses, and of a notification's `data`. Nil for an unknown one.
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

/// The facts about a subscription in one answer of Apple's, or in one thing that Apple signed.
public struct SubscriptionFact: Sendable, Equatable {
    public let originalTransactionID: StoreTransactionID
    public let bundleID: BundleID
    public let environment: StoreEnvironment
    public var productID: ProductID
    public var subscriptionGroupID: String?
    public var state: SubscriptionState
    public var expiresAt: Timestamp?
    public var graceExpiresAt: Timestamp?
    /// Nil where it is not told: the known value stays.
    public var willRenew: Bool?
    /// Nil where it is not told: the known value stays.
    public var renewalProductID: ProductID?
    /// The time at which Apple signed or answered it: an older fact never undoes a newer one.
    public var toldAt: Timestamp
    /// The beginning of the period that `state`, `productID` and the times are of. Nil where it is not told: the one
    /// that is known.
    public var periodBeganAt: Timestamp?
    /// A transaction tells only of its own period: anything that tells of the subscription counts before it.
    public var isOfPeriodOnly = false
    /// The subscription that this one goes on from: its owner's.
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

    /// Whether the fact is about the period of `purchase`.
    public func isOfPeriod(of purchase: StorePurchase) -> Bool {
        purchase.originalTransactionID == originalTransactionID && purchase.purchasedAt == periodBeganAt
    }
}
