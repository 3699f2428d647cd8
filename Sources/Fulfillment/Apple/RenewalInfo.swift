import NamesAndTimes

/// A subscription's renewal, as Apple signed it (`JWSRenewalInfoDecodedPayload`).
public struct RenewalInfo: Sendable, Equatable {
    public let originalTransactionID: StoreTransactionID
    public var productID: ProductID?
    /// The product of the next period, Apple's `autoRenewProductId`.
    public var renewalProductID: ProductID?
    /// True if Apple's `autoRenewStatus` is 1; nil if Apple names none.
    public var willRenew: Bool?
    /// Apple's `isInBillingRetryPeriod`.
    public var isInBillingRetry: Bool
    public var graceExpiresAt: Timestamp?
    /// The environment; nil if Apple names none. Apple signs no `bundleId` in a renewal info. So only the environment
    /// and the original transaction tie the renewal info to its transaction.
    public var environment: StoreEnvironment?
    public var signedAt: Timestamp

    public init(
        originalTransactionID: StoreTransactionID, productID: ProductID? = nil, renewalProductID: ProductID? = nil,
        willRenew: Bool? = nil, isInBillingRetry: Bool = false, graceExpiresAt: Timestamp? = nil,
        environment: StoreEnvironment?, signedAt: Timestamp
    ) {
        self.originalTransactionID = originalTransactionID
        self.productID = productID
        self.renewalProductID = renewalProductID
        self.willRenew = willRenew
        self.isInBillingRetry = isInBillingRetry
        self.graceExpiresAt = graceExpiresAt
        self.environment = environment
        self.signedAt = signedAt
    }
}

/// One subscription in the answer of the endpoint "Get All Subscription Statuses".
public struct SubscriptionStatus: Sendable, Equatable {
    public var subscriptionGroupID: String?
    /// Apple's `status`.
    public var state: SubscriptionState
    /// The subscription's newest transaction.
    public var transaction: NotifiedTransaction
    public var renewal: RenewalInfo

    public init(
        subscriptionGroupID: String?, state: SubscriptionState, transaction: NotifiedTransaction, renewal: RenewalInfo
    ) {
        self.subscriptionGroupID = subscriptionGroupID
        self.state = state
        self.transaction = transaction
        self.renewal = renewal
    }
}
