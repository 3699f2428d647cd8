/// The rows that refunds are settled by: read under the claims' locks, and changed as the batch goes on.
public struct RefundView: Sendable {
    /// What Apple last said of a transaction.
    public struct State: Sendable, Equatable {
        public var signedAt: Timestamp
        /// Nil once it was reversed.
        public var revokedAt: Timestamp?
        /// Nil once it was reversed.
        public var reason: Reason?
        public var milliPercent: Int32?

        public init(signedAt: Timestamp, revokedAt: Timestamp?, reason: Reason? = nil, milliPercent: Int32? = nil) {
            self.signedAt = signedAt
            self.revokedAt = revokedAt
            self.reason = reason
            self.milliPercent = milliPercent
        }
    }

    public var states: [RefundKey: State]
    /// Notifications that were taken before.
    public var taken: Set<Identifier>
    public var grants: [StoreTransactionID: GrantedPurchase]
    /// By original transaction: the non-consumable granted under it, under whatever id.
    public var grantedUnder: [StoreTransactionID: StoreTransactionID]

    public init(
        states: [RefundKey: State] = [:], taken: Set<Identifier> = [],
        grants: [StoreTransactionID: GrantedPurchase] = [:],
        grantedUnder: [StoreTransactionID: StoreTransactionID] = [:]
    ) {
        self.states = states
        self.taken = taken
        self.grants = grants
        self.grantedUnder = grantedUnder
    }
}

/// What became of a notice.
public enum RefundEffect: Sendable, Equatable {
    /// The grant of this transaction changed, and this tells it.
    case published(OutcomeEvent)
    /// Nothing was granted, or the grant was in that state before: remembered for what comes.
    case remembered
    /// Taken before.
    case duplicate
    /// Apple has said something newer of the transaction.
    case outdated

    public var name: String {
        switch self {
        case .published(let event): event.kind == .revoked ? "revoked" : "reinstated"
        case .remembered: "remembered"
        case .duplicate: "duplicate"
        case .outdated: "outdated"
        }
    }
}

extension RefundNotice {
    /// Settles against `view` and enters there what it changes, so that the next of the batch sees it.
    /// - Parameter catalog: has the payload of what is reinstated.
    public func settle(in view: inout RefundView, at now: Timestamp, catalog: Catalog) -> RefundEffect {
        guard view.taken.insert(id).inserted else { return .duplicate }
        if let last = view.states[key], signedAt < last.signedAt { return .outdated }
        view.states[key] = state
        guard var grant = view.target(of: self) else { return .remembered }
        switch change {
        case .revoked(let reason, let time):
            guard grant.revokedAt == nil else { return .remembered }
            grant.revokedAt = time
            grant.revision += 1
            view.grants[grant.transactionID] = grant
            return .published(
                .revoked(grant, told: transaction, reason: reason, at: now))
        case .reversed:
            guard grant.revokedAt != nil else { return .remembered }
            grant.revokedAt = nil
            grant.revision += 1
            view.grants[grant.transactionID] = grant
            let product = catalog.apps[grant.bundleID]?.products[grant.productID]
            return .published(.reinstated(grant, told: transaction, payload: product?.payload, at: now))
        }
    }

    private var state: RefundView.State {
        switch change {
        case .revoked(let reason, let time):
            RefundView.State(
                signedAt: signedAt, revokedAt: time, reason: reason, milliPercent: transaction.refundedMilliPercent)
        case .reversed: RefundView.State(signedAt: signedAt, revokedAt: nil)
        }
    }
}

extension RefundView {
    /// The grant that a notice is about. A non-consumable may have been granted under the id of a restored transaction.
    func target(of notice: RefundNotice) -> GrantedPurchase? {
        let isOfKey = { (grant: GrantedPurchase) in
            grant.bundleID == notice.transaction.bundleID && grant.environment == notice.transaction.environment
        }
        if let grant = grants[notice.transactionID] { return isOfKey(grant) ? grant : nil }
        guard notice.transaction.kind == .nonConsumable,
            let other = grantedUnder[notice.originalTransactionID], let grant = grants[other], isOfKey(grant)
        else { return nil }
        // What was bought again after the refund is another purchase.
        if case .revoked(_, let time) = notice.change, let bought = grant.purchasedAt, bought > time { return nil }
        return grant
    }
}

extension LedgerView {
    /// Whether Apple took it back before it was granted.
    func isRefunded(_ judged: JudgedPurchase, of decision: PendingDecision) -> Bool {
        let purchase = judged.purchase
        func refund(of transaction: StoreTransactionID) -> Timestamp? {
            refunds[
                RefundKey(
                    transactionID: transaction, bundleID: decision.submission.bundleID,
                    environment: decision.environment)]
        }
        if refund(of: purchase.transactionID) != nil { return true }
        // A restored copy of what was refunded; not what was bought again since.
        guard judged.kind == .nonConsumable, purchase.originalTransactionID != purchase.transactionID,
            let time = refund(of: purchase.originalTransactionID)
        else { return false }
        return purchase.purchasedAt <= time
    }
}
