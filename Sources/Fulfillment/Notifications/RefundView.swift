import NamesAndTimes

/// The rows that refunds are settled by: read under the claims' locks, and changed as the batch goes on.
public struct RefundView: Sendable {
    /// Apple's refunds, by transaction. Those of one period say the same.
    public var states: [RefundKey: RefundState]
    /// Notifications that were taken before.
    public var taken: Set<Identifier>
    public var grants: [StoreTransactionID: GrantedPurchase]
    /// The granted non-consumable by original transaction, under whatever id; by period the transaction that has it.
    public var grantedUnder: [StoreTransactionID: StoreTransactionID]
    /// A state of the database that is lost may have taken notifications that were signed by then. Nil: none is lost.
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
