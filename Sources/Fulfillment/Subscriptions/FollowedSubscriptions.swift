import NamesAndTimes

/// The store of the subscriptions that workers ask Apple about. Every function throws if the database is out of reach.
public protocol FollowedSubscriptions: Sendable {
    /// Leases due subscriptions, the longest due first.
    /// - Parameters:
    ///   - room: the most for each app, in this order. Apps take turns, so that none waits for another.
    ///   - limit: the most for all apps together.
    func leaseDue(room: [(app: BundleID, most: Int)], limit: Int) async throws -> [LeasedSubscription]

    /// Enters Apple's answer in one SQL transaction, which ends the lease. Returns its events, which are in the outbox.
    /// It also throws if the database refuses the answer; the subscription is then put off for a day.
    func settle(_ check: SubscriptionCheck, catalog: Catalog) async throws -> [OutcomeEvent]

    /// Puts the subscription off without an answer. Nothing happens if the lease is over.
    func reschedule(_ leased: LeasedSubscription, dueAfterSeconds: Double) async throws

    /// Ends the lease as if there had been none. Nothing happens if the lease is over.
    func endLease(of leased: LeasedSubscription) async throws

    /// Returns the ledger's subscriptions among these original transactions.
    func known(_ originals: [StoreTransactionID]) async throws -> [Subscription]
}

/// A subscription that is due, under a lease.
public struct LeasedSubscription: Sendable, Equatable {
    public let subscription: Subscription
    /// The receipt in base64; nil if none is kept.
    public let receipt: String?
    /// Distinguishes this lease from any other of the row.
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

    /// Whether Apple described the very subscription that was asked about: otherwise Apple knows nothing newer.
    public var tellsOfIt: Bool {
        let subscription = leased.subscription
        return findings.facts.contains {
            $0.originalTransactionID == subscription.originalTransactionID && $0.bundleID == subscription.bundleID
                && $0.environment == subscription.environment
        }
    }
}
