/// The store of granted transactions whose delivery a worker must report to Apple. Every function throws if the
/// database is out of reach. A call about a row whose lease is over changes nothing.
public protocol OwedFinishes: Sendable {
    /// Leases up to `limit` due deliveries, oldest first. Leases a delivery only after Kafka has acknowledged the
    /// grant's event. If no call ends or puts off a leased delivery, it becomes due again by itself, each time after a
    /// longer lease.
    func leaseDueFinishes(limit: Int) async throws -> [LeasedFinish]

    /// Stores the result of a delivery's report.
    func end(_ finish: LeasedFinish, as result: FinishResult) async throws

    /// Makes the delivery due again after `seconds`, because the try had no result.
    func putOff(_ finish: LeasedFinish, seconds: Double) async throws

    /// Releases the row as if it had never been leased.
    func release(_ finish: LeasedFinish) async throws
}

/// A granted transaction under a lease. receiptd has not yet reported its delivery to Apple.
public struct LeasedFinish: Sendable, Equatable {
    public let transactionID: StoreTransactionID
    public let bundleID: BundleID
    public let environment: StoreEnvironment
    /// True if the delivery has waited for `tellingDays`, so that the worker gives up.
    public let isPastItsTime: Bool
    /// The number of tries so far, including this one.
    public let tries: Int
    /// The row's next due time, in microseconds since 1970. The value identifies the lease.
    public let lease: Int64

    /// The days for which workers try to report a delivery to Apple.
    public static let tellingDays = 7
    /// The days for which PostgreSQL keeps the row of an ended report. During this time, a new submission of the
    /// transaction causes no second report.
    public static let keptDays: Int32 = 30

    public init(
        transactionID: StoreTransactionID, bundleID: BundleID, environment: StoreEnvironment, isPastItsTime: Bool,
        tries: Int = 1, lease: Int64
    ) {
        self.transactionID = transactionID
        self.bundleID = bundleID
        self.environment = environment
        self.isPastItsTime = isPastItsTime
        self.tries = tries
        self.lease = lease
    }
}

/// The result of reporting a delivery to Apple.
public enum FinishResult: String, Sendable, CaseIterable {
    case finished
    /// Apple refused the report, and will never accept it.
    case refused
    /// Apple did not accept the report within `LeasedFinish.tellingDays`.
    case givenUp = "given_up"
    /// The catalog no longer asks for reports.
    case notConfigured = "not_configured"
}

extension ProductKind {
    /// False for auto-renewable subscriptions, because Apple accepts no delivery reports for them.
    fileprivate var hasFinish: Bool {
        switch self {
        case .consumable, .nonConsumable, .nonRenewingSubscription: true
        case .autoRenewableSubscription: false
        }
    }
}

extension PendingDecision {
    /// Returns the delivery report that a new grant needs; nil if the catalog does not ask for reports, or if Apple
    /// accepts none for this kind of product.
    public func finish(of grant: Settlement.NewGrant) -> Settlement.Finish? {
        finish(of: grant.purchase.transactionID, grant.kind, grantedAs: grant.purchase.transactionID)
    }

    /// Returns the delivery report of a purchase that was granted earlier; nil in the cases of `finish(of:)`. If the
    /// grant of a non-consumable has the id of another copy of the purchase, the report waits for that grant's event.
    func finish(ofGranted judged: JudgedPurchase, in view: LedgerView) -> Settlement.Finish? {
        let purchase = judged.purchase
        let other = view.claims[purchase.originalTransactionID]?.grantedTransaction
        let isItself = view.grants[purchase.transactionID] != nil
        return finish(
            of: purchase.transactionID, judged.kind,
            grantedAs: isItself ? purchase.transactionID : other ?? purchase.transactionID)
    }

    private func finish(
        of transaction: StoreTransactionID, _ kind: ProductKind?, grantedAs granted: StoreTransactionID
    ) -> Settlement.Finish? {
        guard finishesGrants, kind?.hasFinish == true else { return nil }
        return Settlement.Finish(
            transactionID: transaction, eventID: OutcomeEvent.eventID(.granted, transaction: granted, revision: 1))
    }
}
