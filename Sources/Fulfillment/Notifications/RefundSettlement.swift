import Identifiers
import Timestamps

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

        /// Nil once it was reversed.
        public var revocation: GrantRevocations.Revocation? {
            revokedAt.map { GrantRevocations.Revocation(at: $0, reason: reason ?? .refund, milliPercent: milliPercent) }
        }
    }

    public var states: [RefundKey: State]
    /// When the first notification of a refund that was taken was signed.
    public var firstRefunds: [RefundKey: Timestamp] = [:]
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
        if let id, !view.taken.insert(id).inserted { return .duplicate }
        let last = view.states[key]
        let first = view.firstRefunds[key]
        if id != nil, refunded != nil { view.firstRefunds[key] = min(first ?? signedAt, signedAt) }
        if let last, isOutdated(by: last, after: first) { return .outdated }
        if isReversedUnderAnotherID(in: view) { return .outdated }
        view.states[key] = state(after: last)
        guard var grant = view.target(of: self) else { return .remembered }
        let change = refunded.map { grant.revocations.revoke(byApple: $0) } ?? grant.revocations.reinstateByApple()
        let event = change.flatMap { grant.tell($0, told: transaction, at: now, catalog: catalog) }
        // What Apple said is kept with the grant, also where an operator's revocation is what counts.
        view.grants[grant.transactionID] = grant
        return event.map(RefundEffect.published) ?? .remembered
    }

    /// Apple may sign a retry anew: a refund that was made before the reversal and is told of after it may be the one that was
    /// reversed, whenever that is signed. Where that one was told of before, another notification is another refund.
    /// - Parameter first: when the first notification of a refund of it was signed.
    private func isOutdated(by last: RefundView.State, after first: Timestamp?) -> Bool {
        if signedAt < last.signedAt { return true }
        guard last.revokedAt == nil, let refunded, refunded.at < last.signedAt else { return false }
        return id == nil || first.map { $0 > last.signedAt } ?? true
    }

    /// A copy of a non-consumable that was restored between its refund and the reversal shows the refund under an id of its own.
    private func isReversedUnderAnotherID(in view: RefundView) -> Bool {
        guard id == nil, transaction.kind == .nonConsumable, let refunded else { return false }
        let others = [originalTransactionID, view.grantedUnder[originalTransactionID]].compactMap(\.self)
        return others.contains { other in
            let otherKey = RefundKey(transactionID: other, bundleID: key.bundleID, environment: key.environment)
            guard let last = view.states[otherKey], last.revokedAt == nil else { return false }
            return refunded.at < last.signedAt
        }
    }

    /// A part that is not larger than what was taken back before takes nothing more.
    private func state(after last: RefundView.State?) -> RefundView.State {
        guard let refunded else { return RefundView.State(signedAt: signedAt, revokedAt: nil) }
        let before = last?.revocation?.milliPercent ?? 0
        let share = max(before, refunded.milliPercent)
        return RefundView.State(
            signedAt: signedAt, revokedAt: refunded.at, reason: refunded.reason,
            milliPercent: share == GrantRevocations.whole ? nil : share)
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
        if let time = notice.refunded?.at, let bought = grant.purchasedAt, bought > time { return nil }
        return grant
    }
}

extension LedgerView {
    /// What Apple took back of it before it was granted, by a notification or with the purchase itself.
    func refund(of judged: JudgedPurchase, in decision: PendingDecision) -> GrantRevocations.Revocation? {
        let purchase = judged.purchase
        if refunds.isEmpty, purchase.cancelledAt == nil { return nil }
        func refund(of transaction: StoreTransactionID) -> GrantRevocations.Revocation? {
            refunds[
                RefundKey(
                    transactionID: transaction, bundleID: decision.submission.bundleID,
                    environment: decision.environment)]
        }
        let known = [refund(of: purchase.transactionID), purchase.refunded].compactMap(\.self)
        if let largest = known.max(by: { $0.milliPercent < $1.milliPercent }) { return largest }
        // A restored copy of what was refunded; not what was bought again since.
        guard judged.kind == .nonConsumable, purchase.originalTransactionID != purchase.transactionID,
            let original = refund(of: purchase.originalTransactionID)
        else { return nil }
        return purchase.purchasedAt <= original.at ? original : nil
    }

    /// Whether Apple took all of it back before it was granted.
    func isRefunded(_ judged: JudgedPurchase, of decision: PendingDecision) -> Bool {
        refund(of: judged, in: decision).map { !$0.leavesUnits(of: judged.purchase.quantity) } ?? false
    }
}

extension PendingDecision {
    /// A part that Apple took back before is revoked at once.
    func newGrant(of judged: JudgedPurchase, _ event: OutcomeEvent, in view: LedgerView) -> Settlement.NewGrant {
        let purchase = judged.purchase
        var new = Settlement.NewGrant(purchase: purchase, kind: judged.kind, event: event)
        guard let refunded = view.refund(of: judged, in: self) else { return new }
        var grant = GrantedPurchase(
            transactionID: purchase.transactionID, originalTransactionID: purchase.originalTransactionID,
            player: submission.playerID, bundleID: submission.bundleID, productID: purchase.productID,
            quantity: purchase.quantity, environment: environment, purchasedAt: purchase.purchasedAt,
            expiresAt: purchase.expiresAt, submissionID: submission.submissionID,
            revision: max(1, view.revisionFloor), revocations: GrantRevocations(apple: refunded), event: event.value)
        let told = grant.tell(.revoked(refunded), at: decidedAt, catalog: Catalog(version: 0, apps: []))
        new.revocation = Settlement.Revocation(grant: grant, event: told)
        return new
    }

    /// What Apple's answers show as taken back.
    public var revocationsShown: [NotifiedTransaction] {
        guard case .each(let judged) = verdict else { return shown }
        return shown
            + judged.filter { $0.purchase.cancelledAt != nil }.map { judged in
                NotifiedTransaction(
                    purchase: judged.purchase, kind: judged.kind, bundleID: submission.bundleID,
                    environment: environment)
            }
    }

    /// Of these, revocations of what is granted and in force: they count as their notifications would.
    public func revocationsShown(in view: LedgerView) -> [RefundNotice] {
        guard !view.grants.isEmpty else { return [] }
        return revocationsShown.compactMap { told in
            guard let grant = view.grants[told.purchase.transactionID] ?? view.restored(told), !grant.isRevoked
            else { return nil }
            return RefundNotice(shownBy: told)
        }
    }
}

extension LedgerView {
    /// The grant of a non-consumable under another id of the same original.
    fileprivate func restored(_ told: NotifiedTransaction) -> Grant? {
        guard told.kind == .nonConsumable else { return nil }
        return claims[told.purchase.originalTransactionID]?.grantedTransaction.flatMap { grants[$0] }
    }
}
