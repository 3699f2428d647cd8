import NamesAndTimes

/// The store of the subscriptions that workers check with Apple. Every function throws if the database is out of reach.
public protocol FollowedSubscriptions: Sendable {
    /// Leases due subscriptions, the longest overdue first.
    /// - Parameters:
    ///   - room: the most subscriptions of each app. The apps take turns in this order, so that no app waits for
    ///     another.
    ///   - limit: the most subscriptions in all.
    func leaseDue(room: [(app: BundleID, most: Int)], limit: Int) async throws -> [LeasedSubscription]

    /// Commits Apple's answer in one SQL transaction, which also ends the lease. Returns the events, which are in the
    /// outbox. If the database refuses the answer's data, makes the subscription due again after a day, and throws.
    func settle(_ check: SubscriptionCheck, catalog: Catalog) async throws -> [OutcomeEvent]

    /// Ends the lease without an answer. The subscription is due after `dueAfterSeconds`. If the lease is over, nothing
    /// happens.
    func reschedule(_ leased: LeasedSubscription, dueAfterSeconds: Double) async throws

    /// Ends the lease without a change of the due time. If the lease is over, nothing happens.
    func endLease(of leased: LeasedSubscription) async throws

    /// Returns the ledger's subscriptions with these original transactions.
    func known(_ originals: [StoreTransactionID]) async throws -> [Subscription]

    /// Returns Apple's last facts about the subscription; nil if there are none. Returns the facts even if no player
    /// owns the subscription, or if its app does not follow renewals. The result's player, revision and check are
    /// meaningless.
    func told(of original: StoreTransactionID) async throws -> Subscription?
}

/// A due subscription under a lease.
public struct LeasedSubscription: Sendable, Equatable {
    public let subscription: Subscription
    /// The stored receipt in base64; nil if none is stored.
    public let receipt: String?
    /// The number that distinguishes this lease from all other leases of the row.
    public let lease: Int64

    public init(_ subscription: Subscription, receipt: String?, lease: Int64) {
        self.subscription = subscription
        self.receipt = receipt
        self.lease = lease
    }

    public var originalTransactionID: StoreTransactionID { subscription.originalTransactionID }
    public var bundleID: BundleID { subscription.bundleID }
}

/// The result of a check of a subscription with Apple.
public struct SubscriptionCheck: Sendable {
    public let leased: LeasedSubscription
    public let findings: SubscriptionFindings
    public let at: Timestamp

    public init(_ leased: LeasedSubscription, _ findings: SubscriptionFindings, at now: Timestamp) {
        self.leased = leased
        self.findings = findings
        at = now
    }

    /// True if one of the facts in Apple's answer is about the leased subscription.
    public var tellsOfIt: Bool {
        let subscription = leased.subscription
        return findings.facts.contains {
            $0.originalTransactionID == subscription.originalTransactionID && $0.bundleID == subscription.bundleID
                && $0.environment == subscription.environment
        }
    }

    /// If `original` is the leased subscription and the request for the account's history failed, returns the time of
    /// the next check. Otherwise returns nil.
    public func retryAt(of original: StoreTransactionID) -> Timestamp? {
        guard original == leased.originalTransactionID, let seconds = findings.retryAfterSeconds else { return nil }
        return at.adding(milliseconds: Int64(seconds * 1000))
    }
}
