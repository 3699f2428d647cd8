import NamesAndTimes

/// The effect of a refund notice on the ledger.
public enum RefundEffect: Sendable, Equatable {
    /// The grant changed, or its state is published once more. This is the event.
    case published(OutcomeEvent)
    /// The ledger stores the notice, and receiptd publishes nothing. There is no grant, the grant was in that state
    /// before, or its player was erased.
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
    /// Settles the notice against `view`, and enters the changes there, so that the batch's next notice sees them.
    /// - Parameter catalog: the source of a reinstated product's payload.
    public func settle(in view: inout RefundView, at now: Timestamp, catalog: Catalog) -> RefundEffect {
        if let id, !view.taken.insert(id).inserted { return .duplicate }
        let keys = view.keys(of: self)
        var grant = view.target(of: self)
        var state = view.state(of: keys, grant, before: word)
        state.period = period ?? state.period
        let before = state.revocation
        let isNewest = !isReversedUnderAnotherID(in: view) && state.add(word)
        if !state.words.isEmpty { view.enter(state, of: keys) }
        guard isNewest || state.revocation != before else {
            return tellAgain(in: &view, at: now, catalog: catalog) ?? .outdated
        }
        let change = grant?.revocations.follow(apple: state.revocation)
        let event = change.flatMap { grant?.tell($0, told: transaction, at: now, catalog: catalog) }
        // The grant keeps Apple's refund even if nothing is published, as while an operator's revocation is in force.
        if let grant { view.grants[grant.transactionID] = grant }
        return event.map(RefundEffect.published) ?? tellAgain(in: &view, at: now, catalog: catalog) ?? .remembered
    }

    /// Makes the event of the grant's state once more if a lost state of the database may have published this notice.
    /// The player may then know another state: the lost state may have published a refund whose reversal came first
    /// here and changed nothing. Returns nil for a refund without a notification, which Apple's answers show again and
    /// again.
    private func tellAgain(in view: inout RefundView, at now: Timestamp, catalog: Catalog) -> RefundEffect? {
        guard id != nil, let lostBefore = view.lostBefore, signedAt <= lostBefore, var grant = view.target(of: self),
            grant.revision <= view.revisionFloor
        else { return nil }
        let event = grant.tell(grant.revocations.standing, told: transaction, at: now, catalog: catalog)
        view.grants[grant.transactionID] = grant
        return event.map(RefundEffect.published)
    }

    /// Returns whether Apple reversed this refund under another id. If a player restores a non-consumable between its
    /// refund and the reversal, the restored copy still shows the refund, under the copy's own id.
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
    /// The time of Apple's newest report if no refund is in force; nil while one is.
    fileprivate var reversedAt: Timestamp? { revocation == nil ? signedAt : nil }
}

extension RefundView {
    /// Returns the notice's key, and the keys of other ids under which Apple reported a refund of the same period.
    fileprivate func keys(of notice: RefundNotice) -> [RefundKey] {
        guard let period = notice.period ?? states[notice.key]?.period else { return [notice.key] }
        return [notice.key] + states.filter { $0.key != notice.key && $0.value.period == period }.map(\.key)
    }

    /// Returns the known refund reports of these keys together.
    /// - Parameters:
    ///   - grant: the grant. It may have a refund without a report, which another system entered.
    ///   - word: the new report. It counts as newer than that entered refund.
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

    /// Returns the grant that the notice is about; nil if there is none. A non-consumable may be granted under the id
    /// of a restored transaction, and a period under another of its ids.
    func target(of notice: RefundNotice) -> GrantedPurchase? {
        let isOfKey = { (grant: GrantedPurchase) in
            grant.bundleID == notice.transaction.bundleID && grant.environment == notice.transaction.environment
        }
        if let grant = grants[notice.transactionID] { return isOfKey(grant) ? grant : nil }
        if let period = notice.period { return grantedUnder[period].flatMap { grants[$0] } }
        guard notice.transaction.kind == .nonConsumable,
            let other = grantedUnder[notice.originalTransactionID], let grant = grants[other], isOfKey(grant)
        else { return nil }
        // A grant that was purchased after the refund is another purchase.
        if let time = notice.refunded?.at, let bought = grant.purchasedAt, bought > time { return nil }
        return grant
    }
}

extension LedgerView {
    /// Returns the refund that Apple reported before the grant, in a notification or with the purchase itself; nil if
    /// none is in force.
    func refund(of judged: JudgedPurchase, in decision: PendingDecision) -> GrantRevocations.Revocation? {
        let purchase = judged.purchase
        if refunds.isEmpty, purchase.cancelledAt == nil { return nil }
        func refund(of transaction: StoreTransactionID) -> GrantRevocations.Revocation? {
            refunds[
                RefundKey(
                    transactionID: transaction, bundleID: decision.submission.bundleID,
                    environment: decision.environment)]
        }
        let ofPeriod = decision.period(of: judged).flatMap { refund(of: $0) }
        let known = [refund(of: purchase.transactionID), ofPeriod, purchase.refunded].compactMap(\.self)
        if let largest = known.max(by: { $0.milliPercent < $1.milliPercent }) { return largest }
        // The refund of the original covers its restored copies. A purchase after the refund is a new one.
        guard judged.kind == .nonConsumable, purchase.originalTransactionID != purchase.transactionID,
            let original = refund(of: purchase.originalTransactionID)
        else { return nil }
        return purchase.purchasedAt <= original.at ? original : nil
    }

    /// Returns whether Apple refunded the whole purchase and reversed that, both before the grant.
    fileprivate func isReversed(_ judged: JudgedPurchase, in decision: PendingDecision) -> Bool {
        guard !refunds.reversed.isEmpty else { return false }
        let original = judged.kind == .nonConsumable ? judged.purchase.originalTransactionID : nil
        let ids = [judged.purchase.transactionID, decision.period(of: judged), original]
        return ids.compactMap(\.self).contains { id in
            refunds.reversed.contains(
                RefundKey(
                    transactionID: id, bundleID: decision.submission.bundleID, environment: decision.environment))
        }
    }

    /// Returns whether Apple refunded the whole purchase before the grant.
    func isRefunded(_ judged: JudgedPurchase, of decision: PendingDecision) -> Bool {
        refund(of: judged, in: decision).map { !$0.leavesUnits(of: judged.purchase.quantity) } ?? false
    }
}

extension PendingDecision {
    /// Makes the grant of a purchase. If Apple refunded a part before, the grant is revoked in part at once. If the
    /// database may have lost a decision on the submission, a revocation may have been published: if Apple reversed
    /// that refund, an event of the reinstatement follows.
    func newGrant(of judged: JudgedPurchase, _ event: OutcomeEvent, in view: LedgerView) -> Settlement.NewGrant {
        let purchase = judged.purchase
        var new = Settlement.NewGrant(purchase: purchase, kind: judged.kind, event: event)
        let refunded = view.refund(of: judged, in: self)
        guard refunded != nil || isDecidedAgain && view.isReversed(judged, in: self) else { return new }
        var grant = GrantedPurchase(
            transactionID: purchase.transactionID, originalTransactionID: purchase.originalTransactionID,
            player: submission.playerID, bundleID: submission.bundleID, productID: purchase.productID,
            quantity: purchase.quantity, environment: environment, purchasedAt: purchase.purchasedAt,
            expiresAt: purchase.expiresAt, submissionID: submission.submissionID,
            revision: max(1, view.revisionFloor), revocations: GrantRevocations(apple: refunded), event: event.value)
        let told = grant.tell(grant.revocations.standing, at: decidedAt, catalog: Catalog(version: 0, apps: []))
        new.revocation = Settlement.Revocation(grant: grant, event: told)
        return new
    }

    /// The transactions whose refunds Apple's answers show.
    public var revocationsShown: [NotifiedTransaction] {
        guard case .each(let judged) = verdict else { return shown }
        return shown
            + judged.filter { $0.purchase.cancelledAt != nil }.map { judged in
                NotifiedTransaction(
                    purchase: judged.purchase, kind: judged.kind, bundleID: submission.bundleID,
                    environment: environment)
            }
    }

    /// Returns the shown refunds of grants in force. Each counts as its notification would.
    public func revocationsShown(in view: LedgerView) -> [RefundNotice] {
        guard !view.grants.isEmpty else { return [] }
        return revocationsShown.compactMap { told in
            guard let grant = view.grants[told.purchase.transactionID] ?? view.otherGrant(told), !grant.isRevoked
            else { return nil }
            return RefundNotice(shownBy: told)
        }
    }
}

extension LedgerView {
    /// Returns the grant under another id: of a non-consumable with the same original transaction, or of the same
    /// period. Returns nil if there is none.
    fileprivate func otherGrant(_ told: NotifiedTransaction) -> Grant? {
        let claim = told.kind == .nonConsumable ? told.purchase.originalTransactionID : told.period
        return claim.flatMap { claims[$0]?.grantedTransaction }.flatMap { grants[$0] }
    }
}
