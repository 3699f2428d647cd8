import NamesAndTimes

/// A copy of the database rows on which the decisions about a batch of refunds depend. The worker reads the rows after
/// it has locked the claims (the owners' rows). Each settled notice changes this copy.
public struct RefundView: Sendable {
    /// Apple's reports by transaction. All transactions of a period share the period's reports.
    public var states: [RefundKey: RefundState]
    /// The notifications that the ledger has already.
    public var taken: Set<Identifier>
    public var grants: [StoreTransactionID: GrantedPurchase]
    /// The granted transactions. The key is the original transaction of a non-consumable, or the id of a subscription's
    /// period.
    public var grantedUnder: [StoreTransactionID: StoreTransactionID]
    /// The latest signing time of a notification whose effects the database may have had and then lost; nil if the
    /// database lost no state.
    public var lostBefore: Timestamp?
    /// The highest revision that workers may have published from a lost state of the database; 0 if no state was lost.
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
