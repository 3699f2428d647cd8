/// The result of looking for a row whose workers died, or may have.
public enum SuspectLease<Leased: Sendable, SetAside: Sendable>: Sendable {
    case none
    /// The row is to be tried while no other of its kind is leased.
    case isolated(Leased)
    /// The row killed its workers: nothing looks into it for now, or until an operator wants it.
    case setAside(SetAside)
}

/// A held or an announced purchase, as it may be shown.
public struct SetAsidePurchase: Sendable, Equatable {
    public let transactionID: StoreTransactionID
    public let bundleID: BundleID
    public let source: PurchaseSource
    /// The deaths of workers while only it was leased.
    public let deaths: Int

    public init(transactionID: StoreTransactionID, bundleID: BundleID, source: PurchaseSource, deaths: Int) {
        self.transactionID = transactionID
        self.bundleID = bundleID
        self.source = source
        self.deaths = deaths
    }
}
