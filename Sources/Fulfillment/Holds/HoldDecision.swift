import NamesAndTimes

/// The decision that may end a hold, on its way into the ledger. `PurchaseRule` and `PurchaseSettlement` decide whether
/// a purchase is held in the first place.
public struct HoldDecision: Sendable {
    public let hold: LeasedHold
    /// The decision on the hold's submission, as if the submission had no other transaction.
    public let decision: PendingDecision

    /// - Parameters:
    ///   - verdict: the verdict on Apple's new answer, with the reasons in `hold.waived` waived.
    ///   - cause: the cause of a verdict on the whole submission; nil if the reason says everything.
    ///   - repair: the repair of the proof's text; nil if the proof was sent intact.
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
        /// The purchase stays held, maybe for another reason. There is no event, because the submission was answered as
        /// held.
        case held(Reason)
        /// Apple's answer lacks the transaction, which decides nothing.
        case notTold
    }

    /// The held purchase as Apple's new answer has it, judged; nil if the verdict is on the whole submission, or if the
    /// answer lacks the transaction. If Apple now names another original transaction, the new one counts.
    public var judged: JudgedPurchase? {
        guard case .each(let all) = decision.verdict else { return nil }
        return all.first { $0.purchase.transactionID == hold.transactionID }
    }

    /// Settles against `view` and enters the changes there. `view` may have or lack the hold itself.
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

    /// Settles against an empty ledger and discards the result, as `PendingDecision.rehearse` does.
    public func rehearse() {
        var view = LedgerView()
        _ = settle(in: &view)
    }

    /// Returns the reason that keeps the purchase from every player after its hold has ended for `reason`; nil if
    /// another player may get the purchase.
    ///
    /// Apple's answer decides, because the announcement's stored facts may be older. After an operator has decided
    /// between two players, the purchase is not disputed again.
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

    /// Returns the outcome of the held transaction once it is granted.
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
            // No one reads this digest, because the ledger remembers no proof when a hold ends.
            proof: Digest256(bytes: []),
            identity: hold.identity, verdict: verdict, environment: environment, evidence: nil, decidedAt: decidedAt,
            catalogVersion: catalogVersion, traceparent: hold.traceparent,
            tokenUse: hold.announced?.isRenewal == true ? .none : tokenUse, finishesGrants: finishesGrants,
            subscriptions: subscriptions, announced: hold.announced, isDecidedAgain: hold.isDecidedAgain,
            shown: shown, cause: cause, repair: repair)
    }
}
