/// The seam to the database for deliveries that a worker must report to Apple.
public protocol OwedFinishes: Sendable {
    /// Leases up to `limit` that are due and whose grant's event is acknowledged, oldest first; each is due again by
    /// itself, later each time. Throws where the database is out of reach.
    func leaseDueFinishes(limit: Int) async throws -> [LeasedFinish]

    /// Ends a finish. Nothing happens where the lease is gone. Throws where the database is out of reach.
    func end(_ finish: LeasedFinish, as result: FinishResult) async throws

    /// The try ended without a verdict: it is due again after so many seconds. Nothing happens where the lease is gone. Throws
    /// where the database is out of reach.
    func putOff(_ finish: LeasedFinish, seconds: Double) async throws

    /// Releases the row as if it had never been leased. Throws where the database is out of reach.
    func release(_ finish: LeasedFinish) async throws
}

/// A granted transaction that Apple does not know yet to be delivered, under a lease.
public struct LeasedFinish: Sendable, Equatable {
    public let transactionID: StoreTransactionID
    public let bundleID: BundleID
    public let environment: StoreEnvironment
    /// True if all tries have failed for `tellingDays`, after which the worker gives up.
    public let isPastItsTime: Bool
    /// The number of tries so far, with this one.
    public let tries: Int
    /// Names the lease: when it is due again, in microseconds since 1970.
    public let lease: Int64

    /// The days that Apple is told.
    public static let tellingDays = 7
    /// The days that a finished row stays, so that another submission of the transaction is not told again.
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
    /// Apple will never take it.
    case refused
    /// Apple did not take it in time.
    case givenUp = "given_up"
    /// The catalog no longer says that Apple is to be told.
    case notConfigured = "not_configured"
}

extension ProductKind {
    /// Subscriptions that renew by themselves have nothing to finish.
    fileprivate var hasFinish: Bool {
        switch self {
        case .consumable, .nonConsumable, .nonRenewingSubscription: true
        case .autoRenewableSubscription: false
        }
    }
}

extension PendingDecision {
    /// Returns the delivery of a grant to report to Apple; nil if the catalog does not ask for reports.
    public func finish(of grant: Settlement.NewGrant) -> Settlement.Finish? {
        finish(of: grant.purchase.transactionID, grant.kind, grantedAs: grant.purchase.transactionID)
    }

    /// The same of what was granted before. A non-consumable may have been granted under the id of another restored
    /// transaction.
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
