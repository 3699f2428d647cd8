import NamesAndTimes

/// The rows from which a batch settles refunds, read under the claims' locks. Each settled notice changes them.
public struct RefundView: Sendable {
    /// Apple's reports by transaction. All transactions of one period have the same reports.
    public var states: [RefundKey: RefundState]
    /// The notifications that the ledger has already.
    public var taken: Set<Identifier>
    public var grants: [StoreTransactionID: GrantedPurchase]
    /// The granted transaction, by original transaction for a non-consumable and by period for a subscription.
    public var grantedUnder: [StoreTransactionID: StoreTransactionID]
    /// The signing time up to which a lost state of the database may have taken notifications; nil if no state was
    /// lost.
    public var lostBefore: Timestamp?
    /// The revision up to which a lost state of the database may have published; 0 if no state was lost.
    public var revisionFloor: Int32 = 0

    public init(
        states: [RefundKey: RefundState] = [:], taken: Set<Identifier> = [],
        grants: [StoreTransactionID: GrantedPurchase] = [:],
        grantedUnder: [StoreTransactionID: StoreTransactionID] = [:]
    ) {
        self.states = states
        self.taken = taken
        self.grants = grants
        self.grantedUnder = grantedUnder
    }
}
