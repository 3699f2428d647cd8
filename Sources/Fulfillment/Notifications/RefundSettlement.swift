import NamesAndTimes

/// The result of a notice.
public enum RefundEffect: Sendable, Equatable {
    /// The grant of this transaction changed, and this tells it.
    case published(OutcomeEvent)
    /// The ledger remembers the notice, and publishes nothing: nothing was granted, the grant was in that state before, or
    /// its player is erased.
    case remembered
    /// The ledger has the notice already.
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
    /// Settles against `view`, and enters the changes there, so that the next notice of the batch sees them.
    /// - Parameter catalog: has the payload of a reinstated product.
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
        // The grant keeps Apple's refund, also if an operator's revocation is in force.
        if let grant { view.grants[grant.transactionID] = grant }
        return event.map(RefundEffect.published) ?? tellAgain(in: &view, at: now, catalog: catalog) ?? .remembered
    }

    /// Publishes the state in force once more if the notice changes nothing or is outdated: words that cancel each
    /// other may have been published one by one in a lost state of the database, and a newer word than the lost state
    /// had may have changed nothing here. A refund that another answer shows is no such word, because it is shown again
    /// and again.
    private func tellAgain(in view: inout RefundView, at now: Timestamp, catalog: Catalog) -> RefundEffect? {
        guard id != nil, let lostBefore = view.lostBefore, signedAt <= lostBefore, var grant = view.target(of: self),
            grant.revision <= view.revisionFloor
        else { return nil }
        let event = grant.tell(grant.revocations.standing, told: transaction, at: now, catalog: catalog)
        view.grants[grant.transactionID] = grant
        return event.map(RefundEffect.published)
    }

    /// A copy of a non-consumable that was restored between its refund and the reversal shows the refund under an id of its own.
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
    /// Nil while anything is taken back.
    fileprivate var reversedAt: Timestamp? { revocation == nil ? signedAt : nil }
}

extension RefundView {
    /// The notice's own, and those of other ids that its period was told under.
    fileprivate func keys(of notice: RefundNotice) -> [RefundKey] {
        guard let period = notice.period ?? states[notice.key]?.period else { return [notice.key] }
        return [notice.key] + states.filter { $0.key != notice.key && $0.value.period == period }.map(\.key)
    }

    /// - Parameters:
    ///   - grant: has a refund of which no word is known where another system entered it.
    ///   - word: is taken for newer than that.
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

    /// The grant that a notice is about. A non-consumable may have been granted under the id of a restored transaction, and a
    /// period under another id of it.
    func target(of notice: RefundNotice) -> GrantedPurchase? {
        let isOfKey = { (grant: GrantedPurchase) in
            grant.bundleID == notice.transaction.bundleID && grant.environment == notice.transaction.environment
        }
        if let grant = grants[notice.transactionID] { return isOfKey(grant) ? grant : nil }
        if let period = notice.period { return grantedUnder[period].flatMap { grants[$0] } }
        guard notice.transaction.kind == .nonConsumable,
            let other = grantedUnder[notice.originalTransactionID], let grant = grants[other], isOfKey(grant)
        else { return nil }
        // A later purchase is not the refunded one.
        if let time = notice.refunded?.at, let bought = grant.purchasedAt, bought > time { return nil }
        return grant
    }
}

extension LedgerView {
    /// Apple's refund from before the grant, by a notification or with the purchase itself.
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
        // A restored copy of what was refunded; not what was bought again since.
        guard judged.kind == .nonConsumable, purchase.originalTransactionID != purchase.transactionID,
            let original = refund(of: purchase.originalTransactionID)
        else { return nil }
        return purchase.purchasedAt <= original.at ? original : nil
    }

    /// Whether Apple took it back and reversed that before it was granted.
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

    /// Whether Apple took all of it back before it was granted.
    func isRefunded(_ judged: JudgedPurchase, of decision: PendingDecision) -> Bool {
        refund(of: judged, in: decision).map { !$0.leavesUnits(of: judged.purchase.quantity) } ?? false
    }
}

extension PendingDecision {
    /// A part that Apple took back before is revoked at once. Where the database has lost a decision on it, its
    /// revocation may have been published too: it is told again that Apple reversed that.
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

    /// The refunds that Apple's answers show.
    public var revocationsShown: [NotifiedTransaction] {
        guard case .each(let judged) = verdict else { return shown }
        return shown
            + judged.filter { $0.purchase.cancelledAt != nil }.map { judged in
                NotifiedTransaction(
                    purchase: judged.purchase, kind: judged.kind, bundleID: submission.bundleID,
                    environment: environment)
            }
    }

    /// The shown revocations of grants in force: they count as their notifications would.
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
    /// The grant of a non-consumable under another id of the same original, or of a period under another id of it.
    fileprivate func otherGrant(_ told: NotifiedTransaction) -> Grant? {
        let claim = told.kind == .nonConsumable ? told.purchase.originalTransactionID : told.period
        return claim.flatMap { claims[$0]?.grantedTransaction }.flatMap { grants[$0] }
    }
}
