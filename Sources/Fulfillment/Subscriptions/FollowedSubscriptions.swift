import NamesAndTimes

/// The store of the subscriptions about which workers ask Apple. Each function throws if the database is out of reach.
public protocol FollowedSubscriptions: Sendable {
    /// Leases due subscriptions, those that are overdue longest first.
    /// - Parameters:
    ///   - room: the most subscriptions of each app. Apps take turns in this order, so that none waits for another.
    ///   - limit: the most subscriptions in all.
    func leaseDue(room: [(app: BundleID, most: Int)], limit: Int) async throws -> [LeasedSubscription]

    /// Enters Apple's answer in one SQL transaction, which also ends the lease. Returns the events, which the outbox
    /// has. Throws also if the database refuses the answer; the subscription is then due again after a day.
    func settle(_ check: SubscriptionCheck, catalog: Catalog) async throws -> [OutcomeEvent]

    /// Ends the lease without an answer; the subscription is due after `dueAfterSeconds`. Nothing happens if the lease
    /// is over.
    func reschedule(_ leased: LeasedSubscription, dueAfterSeconds: Double) async throws

    /// Ends the lease, and leaves the subscription as due as before. Nothing happens if the lease is over.
    func endLease(of leased: LeasedSubscription) async throws

    /// Returns the ledger's subscriptions among these original transactions.
    func known(_ originals: [StoreTransactionID]) async throws -> [Subscription]

    /// Returns the last facts from Apple that receiptd has about the subscription, even if no player owns the
    /// subscription or its app does not follow renewals; nil if there are none. In the result, only Apple's facts mean
    /// anything.
    func told(of original: StoreTransactionID) async throws -> Subscription?
}

/// A due subscription under a lease.
public struct LeasedSubscription: Sendable, Equatable {
    public let subscription: Subscription
    /// The stored receipt in base64; nil if none is stored.
    public let receipt: String?
    /// The number that distinguishes this lease from any other of the row.
    public let lease: Int64

    public init(_ subscription: Subscription, receipt: String?, lease: Int64) {
        self.subscription = subscription
        self.receipt = receipt
        self.lease = lease
    }

    public var originalTransactionID: StoreTransactionID { subscription.originalTransactionID }
    public var bundleID: BundleID { subscription.bundleID }
}

/// The result of asking Apple about a subscription.
public struct SubscriptionCheck: Sendable {
    public let leased: LeasedSubscription
    public let findings: SubscriptionFindings
    public let at: Timestamp

    public init(_ leased: LeasedSubscription, _ findings: SubscriptionFindings, at now: Timestamp) {
        self.leased = leased
        self.findings = findings
        at = now
    }

    /// True if Apple's answer describes the subscription that was asked about. Otherwise the answer says nothing new
    /// about it.
    public var tellsOfIt: Bool {
        let subscription = leased.subscription
        return findings.facts.contains {
            $0.originalTransactionID == subscription.originalTransactionID && $0.bundleID == subscription.bundleID
                && $0.environment == subscription.environment
        }
    }
}
