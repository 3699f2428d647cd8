import NamesAndTimes

/// The seam to the database for what asks Apple about subscriptions. Every function throws where the database is out of
/// reach.
public protocol FollowedSubscriptions: Sendable {
    /// Leases what is due, the longest due first.
    /// - Parameters:
    ///   - room: how many of each app; in this order, so that none waits for another where all take turns.
    ///   - limit: of all together.
    func leaseDue(room: [(app: BundleID, most: Int)], limit: Int) async throws -> [LeasedSubscription]

    /// Enters what Apple answered, in one SQL transaction; returns its events, which are in the outbox. The lease ends.
    /// Throws where the database refuses the answer, too: it is put off for a day.
    func settle(_ check: SubscriptionCheck, catalog: Catalog) async throws -> [OutcomeEvent]

    /// Puts it off without an answer. Nothing where the lease is over.
    func reschedule(_ leased: LeasedSubscription, dueAfterSeconds: Double) async throws

    /// Ends the lease as if there had been none. Nothing where the lease is over.
    func endLease(of leased: LeasedSubscription) async throws

    /// Returns those of the originals that are known.
    func known(_ originals: [StoreTransactionID]) async throws -> [Subscription]
}

/// A subscription that is due, under a lease.
public struct LeasedSubscription: Sendable, Equatable {
    public let subscription: Subscription
    /// The receipt in base64, if one is kept.
    public let receipt: String?
    /// Tells this lease from any other of the row.
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
