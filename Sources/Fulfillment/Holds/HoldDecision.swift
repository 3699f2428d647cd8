import NamesAndTimes

/// A decision that may end a hold, with all data that the worker will store. `PurchaseRule` and `PurchaseSettlement`
/// decide whether a hold begins.
public struct HoldDecision: Sendable {
    public let hold: LeasedHold
    /// The decision on the hold's submission, for the held transaction alone.
    public let decision: PendingDecision

    /// - Parameters:
    ///   - verdict: the rules' verdict on Apple's new answer. The rules ignored the reasons in `hold.waived`.
    ///   - cause: the cause of a verdict on the whole submission; nil if `Reason.cause` is specific enough.
    ///   - repair: says how receiptd repaired the proof's text; nil if the text needed no repair.
    public init(
        _ hold: LeasedHold, verdict: Verdict, environment: StoreEnvironment, decidedAt: Timestamp,
        catalogVersion: Int64, tokenUse: AccountTokenUse = .none, finishesGrants: Bool = false,
        subscriptions: ToldSubscriptions = .none, shown: [NotifiedTransaction] = [], cause: Cause? = nil,
        repair: Cause? = nil
    ) {
        self.hold = hold
        decision = PendingDecision(
            hold, verdict: verdict, environment: environment, decidedAt: decidedAt, catalogVersion: catalogVersion,
            tokenUse: tokenUse, finishesGrants: finishesGrants, subscriptions: subscriptions, shown: shown,
            cause: cause, repair: repair)
    }

    /// Makes an operator's refusal of the hold.
    public init(refusing hold: LeasedHold, decidedAt: Timestamp) {
        self.init(
            hold, verdict: .whole(.refusedByOperator, []), environment: .production, decidedAt: decidedAt,
            catalogVersion: 0)
    }

    public enum Settled: Sendable, Equatable {
        case granted(Settlement.NewGrant)
        case rejected(OutcomeEvent)
        /// The purchase stays held, perhaps for a new reason. There is no event, because the submission's answer
        /// already says that the purchase is held.
        case held(Reason)
        /// Apple's answer lacks the transaction, so the answer decides nothing.
        case notTold
    }

    /// The judged purchase, with the facts of Apple's new answer. nil if the verdict is on the whole submission, or if
    /// Apple's answer lacks the transaction. If Apple now names an original transaction that differs from the hold's,
    /// Apple's counts.
    public var judged: JudgedPurchase? {
        guard case .each(let all) = decision.verdict else { return nil }
        return all.first { $0.purchase.transactionID == hold.transactionID }
    }

    /// Settles the decision against `view`, and enters the changes into `view`. `view` may have the hold or lack it.
    public func settle(in view: inout LedgerView) -> Settled {
        view.endHold(of: hold.transactionID, hold.submission.playerID)
        if case .whole(let reason, _) = decision.verdict { return rejected(reason) }
        guard let judged else { return .notTold }
        switch decision.settlement(of: judged, in: view, waived: hold.waived) {
        case .won, .repeatedPeriod: return rejected(.alreadyGranted)
        case .reject(let reason): return rejected(reason)
        case .hold(let reason), .stillHeld(let reason): return .held(reason)
        case .grant(let payload): return granted(judged, payload: payload, in: &view)
        }
    }

    /// Settles the decision against an empty ledger, and discards the result. `PendingDecision.rehearse` explains why.
    public func rehearse() {
        var view = LedgerView()
        _ = settle(in: &view)
    }

    /// Returns `reason`, for which the hold ended, if no player may get the purchase any more. Returns nil if another
    /// player may get the purchase.
    ///
    /// Apple's answer may show a refund, an upgrade or Family Sharing that the stored announcement does not show yet.
    /// After an operator has decided between two players, workers do not dispute the purchase again.
    public func reasonAgainstAnybody(after reason: Reason?) -> Reason? {
        switch reason {
        case .cancelled, .upgraded, .familyShared: reason
        case .ownedByOtherPlayer where hold.waived.contains(.ownershipDisputed): reason
        default: nil
        }
    }

    private func granted(_ judged: JudgedPurchase, payload: String?, in view: inout LedgerView) -> Settled {
        view.enterGrant(of: judged, decision: decision)
        let purchase = judged.purchase
        var event = OutcomeEvent.granted(
            purchase, payload: payload, to: decision.submission, from: decision.source,
            environment: decision.environment, at: decision.decidedAt, risk: hold.risk,
            repair: decision.repair, transactions: [outcome(ofGranted: purchase)])
        event.period = decision.period(of: judged)
        return .granted(decision.newGrant(of: judged, event, in: view))
    }

    /// Returns the outcome of a held transaction that is now granted.
    public func outcome(ofGranted purchase: StorePurchase) -> TransactionOutcome {
        TransactionOutcome(
            transactionID: purchase.transactionID, productID: purchase.productID, outcome: .granted, reason: nil)
    }

    private func rejected(_ reason: Reason) -> Settled {
        let outcome = TransactionOutcome(
            transactionID: hold.transactionID, productID: hold.productID,
            outcome: reason == .alreadyGranted ? .alreadyGranted : .rejected, reason: reason)
        return .rejected(
            .rejected(
                decision.refusal(for: reason, of: [outcome]), endOf: hold, at: decision.decidedAt, transaction: outcome)
        )
    }
}

extension PendingDecision {
    fileprivate convenience init(
        _ hold: LeasedHold, verdict: Verdict, environment: StoreEnvironment, decidedAt: Timestamp,
        catalogVersion: Int64, tokenUse: AccountTokenUse, finishesGrants: Bool, subscriptions: ToldSubscriptions,
        shown: [NotifiedTransaction], cause: Cause?, repair: Cause?
    ) {
        self.init(
            submission: hold.submission, position: hold.position,
            // Nothing reads this digest, because the ledger remembers no proof when a hold ends.
            proof: Digest256(bytes: []),
            identity: hold.identity, verdict: verdict, environment: environment, evidence: nil, decidedAt: decidedAt,
            catalogVersion: catalogVersion, traceparent: hold.traceparent,
            tokenUse: hold.announced?.isRenewal == true ? .none : tokenUse, finishesGrants: finishesGrants,
            subscriptions: subscriptions, announced: hold.announced, isDecidedAgain: hold.isDecidedAgain,
            shown: shown, cause: cause, repair: repair)
    }
}
