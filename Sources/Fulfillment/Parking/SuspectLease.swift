/// The result of looking for a suspect: a row whose workers died, or may have.
public enum SuspectLease<Leased: Sendable, SetAside: Sendable>: Sendable {
    case none
    /// The row is to be tried while no other of its kind is leased.
    case isolated(Leased)
    /// The row killed its workers. Nobody tries it until its last try is due, or until an operator asks.
    case setAside(SetAside)
}

/// A set-aside held or announced purchase, as operators may see it.
public struct SetAsidePurchase: Sendable, Equatable {
    public let transactionID: StoreTransactionID
    public let bundleID: BundleID
    public let source: PurchaseSource
    /// The number of workers that died while only it was leased.
    public let deaths: Int

    public init(transactionID: StoreTransactionID, bundleID: BundleID, source: PurchaseSource, deaths: Int) {
        self.transactionID = transactionID
        self.bundleID = bundleID
        self.source = source
        self.deaths = deaths
    }
}
