import NamesAndTimes

/// Apple's report that it made or reversed a refund.
///
/// `StoreNotification.verdict` makes the notice of a notification, by its type:
///
/// - `REFUND` revokes the share that the transaction names, or the whole if the transaction names no share. If receiptd
///   cannot read the share, the worker first asks Apple for the transaction (`UnreadRefund`).
/// - `REVOKE` revokes the whole.
/// - `REFUND_REVERSED` reverses a refund.
/// - `REFUND` with the subtype `SEATS` makes no notice, because seats are not goods.
/// - Other types make a notice if their transaction shows a refund. Apple's answers make a notice in the same way
///   (`init(shownBy:)`).
///
/// The caller of `RefundWrite` in Ledger, for example `NoticeBatchWrite`, locks the claims (the owners' rows).
/// `RefundWrite` then locks the grants, and calls `settle` for each notice. `RefundState` finds the refund that is
/// valid now; the order in which the notices arrive does not matter. `GrantRevocations` decides whether the revoked
/// share changed, and computes the revoked units.
///
/// A changed share makes an event with the revoked units and the grant's next revision. An erased player gets no event.
/// `RefundWrite` writes the refund, the grant and the event through `RefundRows`, in the caller's SQL transaction.
public struct RefundNotice: Sendable, Equatable {
    public enum Change: Sendable, Equatable {
        /// Apple made a refund at `at`. The reason is `.refund` or `.revoke`.
        case revoked(Reason, at: Timestamp)
        case reversed
    }

    /// The notification's id; nil if the refund comes from Apple's answer to a request.
    public let id: Identifier?
    public let change: Change
    public let signedAt: Timestamp
    public let transaction: NotifiedTransaction

    public init(id: Identifier?, change: Change, signedAt: Timestamp, transaction: NotifiedTransaction) {
        self.id = id
        self.change = change
        self.signedAt = signedAt
        self.transaction = transaction
    }

    /// Makes the notice of a refund that a transaction in Apple's answer shows. A refund counts only once, even if
    /// several answers show it. Returns nil if the transaction shows no refund.
    ///
    /// The notice's time is the refund's own date, because an old answer must not undo a later reversal.
    public init?(shownBy transaction: NotifiedTransaction) {
        guard let refunded = transaction.purchase.refunded else { return nil }
        self.init(
            id: nil, change: .revoked(refunded.reason, at: refunded.at), signedAt: refunded.at,
            transaction: transaction)
    }

    public var key: RefundKey { RefundKey(transaction) }
    /// The id of the paid subscription period; nil if the transaction pays for none.
    public var period: StoreTransactionID? { transaction.refundedPeriod }
    /// The key of the original transaction of a restored non-consumable; nil if the transaction is no restored copy.
    public var originalKey: RefundKey? {
        guard transaction.kind == .nonConsumable, originalTransactionID != transactionID else { return nil }
        return RefundKey(transactionID: originalTransactionID, bundleID: key.bundleID, environment: key.environment)
    }

    public var transactionID: StoreTransactionID { transaction.purchase.transactionID }
    public var originalTransactionID: StoreTransactionID { transaction.purchase.originalTransactionID }

    /// The refund; nil if the notice reports a reversal.
    var refunded: GrantRevocations.Revocation? {
        guard case .revoked(let reason, let time) = change else { return nil }
        return GrantRevocations.Revocation(
            at: time, reason: reason, milliPercent: reason == .revoke ? nil : transaction.refundedMilliPercent)
    }
}

extension RefundNotice {
    var word: RefundWord {
        guard let refunded else {
            return RefundWord(time: signedAt, total: transaction.purchase.leftRefunded, isReversal: true)
        }
        return id == nil ? RefundWord(shown: refunded) : RefundWord(time: signedAt, total: refunded)
    }
}

/// The key of a refunded transaction. The key has the environment, so that a refund in the sandbox never counts against
/// a purchase in Production.
public struct RefundKey: Sendable, Hashable {
    public let transactionID: StoreTransactionID
    public let bundleID: BundleID
    public let environment: StoreEnvironment

    public init(transactionID: StoreTransactionID, bundleID: BundleID, environment: StoreEnvironment) {
        self.transactionID = transactionID
        self.bundleID = bundleID
        self.environment = environment
    }

    init(_ transaction: NotifiedTransaction) {
        self.init(
            transactionID: transaction.purchase.transactionID, bundleID: transaction.bundleID,
            environment: transaction.environment)
    }
}

/// The effect of a refund notice on the ledger.
public enum RefundEffect: Sendable, Equatable {
    /// The grant changed, or the worker must publish its state once more, because the database may have lost an event.
    /// The value is the event.
    case published(OutcomeEvent)
    /// The ledger stores the notice, and receiptd publishes nothing. There is no grant, the notice does not change the
    /// grant, or the grant's player is erased.
    case remembered
    /// The ledger has the notice already.
    case duplicate
    /// The ledger has a newer report of Apple's about the transaction.
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
    /// Settles the notice against `view`, and enters the changes into `view`, so that the batch's next notice sees
    /// these changes.
    /// - Parameter catalog: the source of a reinstated product's payload.
    public func settle(in view: inout RefundView, at now: Timestamp, catalog: Catalog) -> RefundEffect {
        if let id, !view.taken.insert(id).inserted { return .duplicate }
        let keys = view.keys(of: self)
        var grant = view.target(of: self)
        var state = view.state(of: keys, grant, before: word)
        state.period = period ?? state.period
        let before = state.revocation
        let isReversed = isReversedUnderAnotherID(in: view)
        let isNewest = !isReversed && state.add(word)
        if !state.words.isEmpty { view.enter(state, of: keys) }
        // Apple's report about a restored copy also counts for the original, and for other copies that a worker grants
        // later.
        if !isReversed, let original = originalKey { _ = view.states[original, default: RefundState()].add(word) }
        guard isNewest || state.revocation != before else {
            return tellAgain(in: &view, at: now, catalog: catalog) ?? .outdated
        }
        let change = grant?.revocations.follow(apple: state.revocation)
        let event = change.flatMap { grant?.tell($0, told: transaction, at: now, catalog: catalog) }
        // The grant keeps Apple's refund even without an event, for example while an operator's revocation is in force.
        if let grant { view.grants[grant.transactionID] = grant }
        return event.map(RefundEffect.published) ?? tellAgain(in: &view, at: now, catalog: catalog) ?? .remembered
    }

    /// Makes an event of the grant's present state if a worker may have published an event of this notice and the
    /// database lost that event. For example, the database lost a published refund. Then the refund's reversal changes
    /// nothing in the database, but the game must learn of the reversal. Returns nil for a refund without a
    /// notification, because Apple's answers show that refund again and again.
    private func tellAgain(in view: inout RefundView, at now: Timestamp, catalog: Catalog) -> RefundEffect? {
        guard id != nil, let lostBefore = view.lostBefore, signedAt <= lostBefore, var grant = view.target(of: self),
            grant.revision <= view.revisionFloor
        else { return nil }
        let event = grant.tell(grant.revocations.standing, told: transaction, at: now, catalog: catalog)
        view.grants[grant.transactionID] = grant
        return event.map(RefundEffect.published)
    }

    /// Returns whether Apple reversed this refund under another transaction's id. A player may restore a non-consumable
    /// between its refund and the reversal. Then the restored copy has an id of its own and still shows the refund.
    private func isReversedUnderAnotherID(in view: RefundView) -> Bool {
        guard id == nil, transaction.kind == .nonConsumable, let refunded else { return false }
        let others = [originalTransactionID, view.grantedUnder[originalTransactionID]].compactMap(\.self)
        return others.contains { other in
            let otherKey = RefundKey(transactionID: other, bundleID: key.bundleID, environment: key.environment)
            guard let reversal = view.states[otherKey]?.reversedAt else { return false }
            return refunded.at < reversal
        }
    }
}

extension RefundState {
    /// The time of Apple's newest report if no refund is valid after all reports; nil while a refund is valid.
    fileprivate var reversedAt: Timestamp? { revocation == nil ? signedAt : nil }
}

extension RefundView {
    /// Returns the notice's key, and the keys of other transactions for which Apple reported a refund of the notice's
    /// period.
    fileprivate func keys(of notice: RefundNotice) -> [RefundKey] {
        guard let period = notice.period ?? states[notice.key]?.period else { return [notice.key] }
        return [notice.key] + states.filter { $0.key != notice.key && $0.value.period == period }.map(\.key)
    }

    /// Returns the known refund reports of all `keys` in one state.
    /// - Parameters:
    ///   - grant: the grant. The grant may have a refund that another system entered, without a report.
    ///   - word: the new report. The report counts as newer than a refund that another system entered.
    fileprivate func state(of keys: [RefundKey], _ grant: GrantedPurchase?, before word: RefundWord) -> RefundState {
        var state = RefundState()
        for known in keys.compactMap({ states[$0] }) {
            state.add(contentsOf: known)
            state.period = state.period ?? known.period
        }
        if let entered = grant?.revocations.apple, entered.milliPercent > state.revocation?.milliPercent ?? 0 {
            _ = state.add(RefundWord(time: min(entered.at, word.time), total: entered, isTold: false))
        }
        return state
    }

    fileprivate mutating func enter(_ state: RefundState, of keys: [RefundKey]) {
        for key in keys { states[key] = state }
    }

    /// Returns the grant that the notice is about; nil if there is none. The grant of a non-consumable may have the id
    /// of a restored transaction. The grant of a period may have the id of another transaction of the period.
    func target(of notice: RefundNotice) -> GrantedPurchase? {
        let isOfKey = { (grant: GrantedPurchase) in
            grant.bundleID == notice.transaction.bundleID && grant.environment == notice.transaction.environment
        }
        if let grant = grants[notice.transactionID] { return isOfKey(grant) ? grant : nil }
        if let period = notice.period { return grantedUnder[period].flatMap { grants[$0] } }
        guard notice.transaction.kind == .nonConsumable,
            let other = grantedUnder[notice.originalTransactionID], let grant = grants[other], isOfKey(grant)
        else { return nil }
        // If the granted purchase is later than the refund, the refund is of an earlier purchase.
        if let time = notice.refunded?.at, let bought = grant.purchasedAt, bought > time { return nil }
        return grant
    }
}
