/// The refunds that Apple reported before the purchase was granted. `RefundNotice` is about the refunds of grants.
extension LedgerView {
    /// Returns the refund in force that Apple reported before the grant, in a notification or with the purchase itself;
    /// nil if there is none. A refund in the proof or the answer is not in force if the ledger knows its reversal.
    func refund(of judged: JudgedPurchase, in decision: PendingDecision) -> GrantRevocations.Revocation? {
        let purchase = judged.purchase
        if refunds.isEmpty { return purchase.refunded }
        var state = RefundState()
        for id in [purchase.transactionID, decision.period(of: judged)].compactMap(\.self) {
            if let known = refunds[decision.refundKey(of: id)] { state.add(contentsOf: known) }
        }
        // A refund of the original transaction, or its reversal, covers the restored copies. A purchase after the
        // refund is a new purchase.
        if judged.kind == .nonConsumable, purchase.originalTransactionID != purchase.transactionID,
            let known = refunds[decision.refundKey(of: purchase.originalTransactionID)],
            known.revocation.map({ purchase.purchasedAt <= $0.at }) ?? true
        {
            state.add(contentsOf: known)
        }
        if let shown = purchase.refunded { _ = state.add(RefundWord(shown: shown)) }
        return state.revocation
    }

    /// Returns whether Apple refunded the purchase before the grant, and then reversed the refund.
    fileprivate func isReversed(_ judged: JudgedPurchase, in decision: PendingDecision) -> Bool {
        let original = judged.kind == .nonConsumable ? judged.purchase.originalTransactionID : nil
        let ids = [judged.purchase.transactionID, decision.period(of: judged), original]
        return ids.compactMap(\.self).contains { id in
            refunds[decision.refundKey(of: id)].map { $0.revocation == nil } ?? false
        }
    }

    /// Returns whether Apple refunded the whole purchase before the grant.
    func isRefunded(_ judged: JudgedPurchase, of decision: PendingDecision) -> Bool {
        refund(of: judged, in: decision).map { !$0.leavesUnits(of: judged.purchase.quantity) } ?? false
    }
}

extension PendingDecision {
    fileprivate func refundKey(of id: StoreTransactionID) -> RefundKey {
        RefundKey(transactionID: id, bundleID: submission.bundleID, environment: environment)
    }

    /// Returns the grant of a purchase, with a revocation if Apple has already refunded the purchase. If the database
    /// lost an earlier decision on the submission, a worker may have published a revocation for a refund that Apple has
    /// reversed since. In that case the grant has the event of a reinstatement.
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
    public var revocationsShown: [NotifiedTransaction] { shown + refundedPurchases }

    /// The judged purchases that show a refund.
    private var refundedPurchases: [NotifiedTransaction] {
        guard case .each(let judged) = verdict else { return [] }
        return judged.filter { $0.purchase.cancelledAt != nil }.map { judged in
            NotifiedTransaction(
                purchase: judged.purchase, kind: judged.kind, bundleID: submission.bundleID, environment: environment)
        }
    }

    /// Returns the refunds that the judged purchases show for unrevoked grants. Each refund counts like a notification
    /// about it. Call this before the settlement, because the settlement itself enters the refunds of new grants.
    public func refundsShownByPurchases(in view: LedgerView) -> [RefundNotice] {
        notices(of: refundedPurchases, in: view)
    }

    /// Returns the refunds that further answers of Apple show for unrevoked grants. Call this after the settlement,
    /// because the decision may grant the refunded purchase.
    public func refundsShownBeside(in view: LedgerView) -> [RefundNotice] { notices(of: shown, in: view) }

    private func notices(of refunded: [NotifiedTransaction], in view: LedgerView) -> [RefundNotice] {
        guard !view.grants.isEmpty else { return [] }
        return refunded.compactMap { told in
            guard let grant = view.grants[told.purchase.transactionID] ?? view.otherGrant(told), !grant.isRevoked
            else { return nil }
            return RefundNotice(shownBy: told)
        }
    }
}

extension LedgerView {
    /// Returns the grant of a non-consumable with the original transaction of `told`, or the grant of the period of
    /// `told`. Returns nil if there is none.
    fileprivate func otherGrant(_ told: NotifiedTransaction) -> Grant? {
        let claim = told.kind == .nonConsumable ? told.purchase.originalTransactionID : told.refundedPeriod
        return claim.flatMap { claims[$0]?.grantedTransaction }.flatMap { grants[$0] }
    }
}
