/// The result of looking for a suspect. A suspect is a row whose leases ended without a release, perhaps because
/// workers died.
public enum SuspectLease<Leased: Sendable, SetAside: Sendable>: Sendable {
    case none
    /// The worker has leased the suspect, and tries it alone (in isolation).
    case isolated(Leased)
    /// Workers died while they tried the row. No worker tries the row again until its last try is due, or until an
    /// operator orders a try.
    case setAside(SetAside)
}

/// A held or announced purchase that is set aside because workers died while they worked on it. The value has no data
/// that operators must not see.
public struct SetAsidePurchase: Sendable, Equatable {
    public let transactionID: StoreTransactionID
    public let bundleID: BundleID
    public let source: PurchaseSource
    /// The number of workers that died while this purchase was their only lease.
    public let deaths: Int

    public init(transactionID: StoreTransactionID, bundleID: BundleID, source: PurchaseSource, deaths: Int) {
        self.transactionID = transactionID
        self.bundleID = bundleID
        self.source = source
        self.deaths = deaths
    }
}
