/// The state of the store at one time. Tests compare it with receiptd's tables in PostgreSQL.
public struct StoreSummary: Sendable, Hashable, Codable {
    public struct Subscription: Sendable, Hashable, Codable {
        public let originalTransactionID: String
        public let account: String
        public let accountToken: String?
        public let bundleID: String
        public let environment: SimulatedEnvironment
        public let productID: String
        public let subscriptionGroupID: String?
        public let state: StoreSubscription.State
        /// The end of the newest period, in milliseconds since 1970.
        public let expiresAt: Int64?
        public let graceExpiresAt: Int64?
        public let willRenew: Bool
        public let renewalProductID: String
        public let periods: [Purchase]

        enum CodingKeys: String, CodingKey {
            case originalTransactionID = "original_transaction_id"
            case account
            case accountToken = "account_token"
            case bundleID = "bundle_id"
            case environment
            case productID = "product_id"
            case subscriptionGroupID = "subscription_group_id"
            case state
            case expiresAt = "expires_at_ms"
            case graceExpiresAt = "grace_expires_at_ms"
            case willRenew = "will_renew"
            case renewalProductID = "renewal_product_id"
            case periods
        }
    }

    public struct Purchase: Sendable, Hashable, Codable {
        public let transactionID: String
        public let account: String
        public let accountToken: String?
        public let productID: String
        public let quantity: Int
        public let ownership: String
        public let purchasedAt: Int64
        public let expiresAt: Int64?
        public let revokedAt: Int64?
        /// The refunded share in thousandths of a percent of the whole quantity; nil without a refund, or if family
        /// sharing ended.
        public let revokedMilliPercent: Int?
        public let isUpgraded: Bool
        public let isFinished: Bool

        enum CodingKeys: String, CodingKey {
            case transactionID = "transaction_id"
            case account
            case accountToken = "account_token"
            case productID = "product_id"
            case quantity
            case ownership
            case purchasedAt = "purchased_at_ms"
            case expiresAt = "expires_at_ms"
            case revokedAt = "revoked_at_ms"
            case revokedMilliPercent = "revoked_milli_percent"
            case isUpgraded = "is_upgraded"
            case isFinished = "is_finished"
        }
    }

    /// The time of this state, in milliseconds since 1970.
    public let at: Int64
    /// The subscriptions, sorted by original transaction id.
    public let subscriptions: [Subscription]
    /// The purchases that are not periods of subscriptions, sorted by id.
    public let purchases: [Purchase]
    /// The number of notifications of each type. The key is the type, or the type and the subtype with a slash between.
    public let notifications: [String: Int]

    enum CodingKeys: String, CodingKey {
        case at = "at_ms"
        case subscriptions
        case purchases
        case notifications
    }
}

extension SimulatedStore {
    public func summary(at now: Int64) -> StoreSummary {
        let told = notifications.map { kept in
            kept.notification.type + (kept.notification.subtype.map { "/\($0)" } ?? "")
        }
        return StoreSummary(
            at: now,
            subscriptions: subscriptions.values.map { summary($0, at: now) }
                .sorted { $0.originalTransactionID < $1.originalTransactionID },
            purchases: transactions.values.filter { $0.product.plan == nil }.map(\.summary)
                .sorted { $0.transactionID < $1.transactionID },
            notifications: told.reduce(into: [:]) { $0[$1, default: 0] += 1 })
    }

    private func summary(_ subscription: StoreSubscription, at now: Int64) -> StoreSummary.Subscription {
        let periods = subscription.periods.compactMap { transactions[$0] }
        let state = subscription.state(at: now)
        return .init(
            originalTransactionID: subscription.originalID, account: subscription.account.name,
            accountToken: periods.last?.terms.accountToken, bundleID: subscription.account.bundleID,
            environment: subscription.account.environment, productID: subscription.product.id,
            subscriptionGroupID: subscription.product.plan?.groupID, state: state, expiresAt: periods.last?.expiresAt,
            graceExpiresAt: state == .gracePeriod ? subscription.renewal.graceExpiresAt : nil,
            willRenew: subscription.renewal.isOn, renewalProductID: subscription.renewal.product.id,
            periods: periods.map(\.summary))
    }
}

extension StoreTransaction {
    fileprivate var summary: StoreSummary.Purchase {
        .init(
            transactionID: id, account: account.name, accountToken: terms.accountToken, productID: product.id,
            quantity: terms.quantity, ownership: terms.ownership, purchasedAt: purchasedAt, expiresAt: expiresAt,
            revokedAt: revocation?.at, revokedMilliPercent: revocation?.milliPercent, isUpgraded: upgradedAt != nil,
            isFinished: isFinished)
    }
}
