/// A subscription: its paid periods, and its state.
public struct StoreSubscription: Sendable, Hashable {
    /// The state of a subscription, with the values of the ledger's column `subscriptions.state`.
    public enum State: String, Sendable, Hashable, Codable, CaseIterable {
        case active
        case gracePeriod = "grace_period"
        case billingRetry = "billing_retry"
        case expired
        case revoked

        /// The status in Get All Subscription Statuses.
        public var status: Int {
            switch self {
            case .active: 1
            case .expired: 2
            case .billingRetry: 3
            case .gracePeriod: 4
            case .revoked: 5
            }
        }
    }

    /// The reason why a subscription ended: Apple's `expirationIntent`.
    public enum End: Int, Sendable, Hashable, Codable, CaseIterable {
        case customerCancelled = 1
        case billingError = 2
        case priceIncrease = 3
        case productNotForSale = 4

        /// The subtype of the EXPIRED notification.
        var subtype: String {
            switch self {
            case .customerCancelled: "VOLUNTARY"
            case .billingError: "BILLING_RETRY"
            case .priceIncrease: "PRICE_INCREASE"
            case .productNotForSale: "PRODUCT_NOT_FOR_SALE"
            }
        }
    }

    public struct Renewal: Sendable, Hashable {
        public var isOn = true
        public var product: SimulatedProduct
        public var isInBillingRetry = false
        public var graceExpiresAt: Int64?
        public var end: End?
        /// 0: Apple asked the customer, who has not agreed yet; 1: the customer agreed; nil: Apple did not ask.
        public var priceIncreaseStatus: Int?
    }

    public let originalID: String
    public let account: SimulatedAccount
    public let startedAt: Int64
    /// The transaction ids of the periods, oldest first.
    public internal(set) var periods: [String] = []
    public internal(set) var product: SimulatedProduct
    public internal(set) var expiresAt: Int64
    public internal(set) var renewal: Renewal
    /// True if Apple refunded the newest period, or if the buyer's family no longer shares it.
    public internal(set) var isRevoked = false
    /// True if Apple has sent EXPIRED for the subscription, and no new period has begun since.
    public internal(set) var hasEnded = false

    public func state(at now: Int64) -> State {
        if isRevoked { return .revoked }
        if hasEnded { return .expired }
        if renewal.isInBillingRetry {
            return renewal.graceExpiresAt.map { $0 > now } ?? false ? .gracePeriod : .billingRetry
        }
        return expiresAt > now ? .active : .expired
    }

    /// Returns a `JWSRenewalInfoDecodedPayload`.
    func claims(signedAt: Int64) -> String {
        var claims = ClaimsText()
        claims.add("originalTransactionId", originalID)
        claims.add("autoRenewProductId", renewal.product.id)
        claims.add("productId", product.id)
        claims.add("autoRenewStatus", renewal.isOn ? 1 : 0)
        let isOver = hasEnded || expiresAt <= signedAt || renewal.isInBillingRetry
        if isOver { claims.add("isInBillingRetryPeriod", renewal.isInBillingRetry) }
        claims.add("expirationIntent", (renewal.end?.rawValue).map(Int64.init))
        claims.add("gracePeriodExpiresDate", renewal.graceExpiresAt)
        claims.add("priceIncreaseStatus", renewal.priceIncreaseStatus.map(Int64.init))
        claims.add("renewalDate", renewal.isOn ? expiresAt : nil)
        claims.add("renewalPrice", renewal.isOn ? renewal.product.price.milliunits : nil)
        claims.add("currency", renewal.product.price.currency)
        claims.add("recentSubscriptionStartDate", startedAt)
        claims.add("appTransactionId", account.appTransactionID)
        claims.add("signedDate", signedAt)
        claims.add("environment", account.environment.appleName.description)
        return claims.finished()
    }
}
