import NamesAndTimes

/// The rows to write and the events to publish for a decision. The worker has compared the decision with the ledger's
/// rows.
public struct Settlement: Sendable, Equatable {
    public struct NewGrant: Sendable, Equatable {
        public let purchase: StorePurchase
        public let kind: ProductKind?
        public let event: OutcomeEvent
        /// The change that the worker publishes right after the grant; nil if there is none.
        public var revocation: Revocation?
    }

    /// A change of a new grant. The change revokes the part that Apple refunded before the grant. If the database may
    /// have lost an earlier decision on the purchase, the change may also revoke the whole grant, or reinstate the
    /// grant after a reversed refund.
    public struct Revocation: Sendable, Equatable {
        public let grant: GrantedPurchase
        /// The event of the change; nil if the player is erased.
        public let event: OutcomeEvent?
    }

    public struct NewHold: Sendable, Equatable {
        public let purchase: StorePurchase
        /// The catalog's kind; nil if the catalog lacks the product.
        public let kind: ProductKind?
        public let reason: Reason
        /// The risk signals of `receipt.held`. The event of a later grant repeats them.
        public var risk: [RiskSignal] = []
    }

    /// A granted transaction whose delivery a worker reports to Apple.
    public struct Finish: Sendable, Equatable {
        public let transactionID: StoreTransactionID
        /// The id of the grant's event. Workers report the delivery once Kafka has acknowledged that event.
        public let eventID: NameBasedUUID
    }

    public var grants: [NewGrant] = []
    /// The deliveries of earlier grants to report to Apple. The deliveries of new grants follow from `grants`.
    public var finishes: [Finish] = []
    public var holds: [NewHold] = []
    /// The granted transactions whose hold for this player ends.
    public var endedHolds: [StoreTransactionID] = []
    /// The events of this submission's earlier grants. The worker publishes these events again, unchanged.
    public var reissued: [OutcomeEvent] = []
    public var outcomes: [TransactionOutcome] = []
    /// The transactions whose period is already granted by another transaction. The worker writes no row for them.
    public var repeated: Set<StoreTransactionID> = []
    /// The submission's own event, if the submission is held or rejected; nil otherwise.
    public var answer: OutcomeEvent?

    /// All events of the submission: the grants in the order of the purchases, then the changes of the grants, then the
    /// submission's own event.
    public var events: [OutcomeEvent] {
        var granted = grants.map(\.event)
        if !reissued.isEmpty {
            let places = Dictionary(
                outcomes.enumerated().map { ($1.transactionID, $0) }, uniquingKeysWith: { first, _ in first })
            granted = (reissued + granted).sorted { places[$0.subject] ?? 0 < places[$1.subject] ?? 0 }
        }
        return granted + grants.compactMap { $0.revocation?.event } + (answer.map { [$0] } ?? [])
    }
}

extension PendingDecision {
    /// Settles the decision against an empty ledger, and discards the result. If the data kills the process, the
    /// process dies here, and the death counts against the suspect. Later the worker waits for the SQL transaction, and
    /// a death during that wait does not count.
    public func rehearse() {
        var view = LedgerView()
        _ = settle(in: &view).events
    }

    /// Settles the decision against `view`, and enters the changes into `view`, so that the batch's next decision sees
    /// these changes.
    public func settle(in view: inout LedgerView) -> Settlement {
        switch verdict {
        case .whole(let reason, let purchases):
            return settle(reason, purchases, in: view)
        case .each(let judged):
            return settle(judged, in: &view)
        }
    }

    /// Rejects the submission's purchases, except those that an earlier decision granted to the submission. An earlier
    /// grant stays, even if the catalog or Apple's answer has changed.
    private func settle(_ reason: Reason, _ purchases: [StorePurchase], in view: LedgerView) -> Settlement {
        var settlement = Settlement()
        let listed = Set(purchases.lazy.map(\.transactionID))
        for won in view.won?[identity] ?? [] where !listed.contains(won.transactionID) {
            settlement.reissued.append(won.event)
            settlement.outcomes.append(
                TransactionOutcome(
                    transactionID: won.transactionID, productID: won.productID, outcome: .granted, reason: nil))
        }
        for purchase in purchases {
            if let grant = view.grants[purchase.transactionID], grant.player == submission.playerID,
                grant.submission == identity,
                let event = grant.event.flatMap({ OutcomeEvent(stored: $0, period: period(of: purchase)) })
            {
                settlement.reissued.append(event)
                settlement.outcomes.append(
                    TransactionOutcome(
                        transactionID: purchase.transactionID, productID: purchase.productID, outcome: .granted,
                        reason: nil))
            } else {
                settlement.outcomes.append(TransactionOutcome(purchase, rejectedFor: reason))
            }
        }
        if settlement.reissued.isEmpty { settlement.answer = answer(.rejected, reason, settlement.outcomes) }
        return settlement
    }

    private func settle(_ judged: [JudgedPurchase], in view: inout LedgerView) -> Settlement {
        passOn(periods: judged, in: &view)
        let isOfAnother = isReceiptOfAnother(judged, in: view)
        if isOfAnother, judged.contains(where: { $0.origin == .history }) {
            return settle(.ownedByOtherPlayer, purchasesOfReceipt(judged, in: view), in: view)
        }
        var settlement = Settlement()
        if risk != nil, let device { view.risk.playersOfDevice[device, default: []].insert(submission.playerID) }
        // The indices of the purchases to grant. An index avoids a copy of the purchase and of all its fields.
        var toGrant: [(index: Int, payload: String?)] = []
        for index in judged.indices {
            let outcome: (TransactionOutcome.Outcome, Reason?)
            switch submitted(judged[index], inReceiptOfAnother: isOfAnother, in: view) {
            case .won(let event):
                view.enterPeriod(ofGranted: judged[index])
                if let event { settlement.reissued.append(event) }
                if let finish = finish(ofGranted: judged[index], in: view) { settlement.finishes.append(finish) }
                outcome = (event == nil ? .alreadyGranted : .granted, event == nil ? .alreadyGranted : nil)
            case .grant(let payload):
                toGrant.append((index, payload))
                endHold(of: judged[index].purchase.transactionID, in: &settlement, &view)
                view.enterGrant(of: judged[index], decision: self)
                outcome = (.granted, nil)
            case .hold(let reason):
                hold(judged[index], for: reason, in: &settlement, &view)
                outcome = (.held, reason)
            case .stillHeld(let reason): outcome = (.held, reason)
            case .reject(let reason):
                if reason == .alreadyGranted {
                    view.enterPeriod(ofGranted: judged[index])
                    if let finish = finish(ofGranted: judged[index], in: view) { settlement.finishes.append(finish) }
                }
                outcome = (reason == .alreadyGranted ? .alreadyGranted : .rejected, reason)
            case .repeatedPeriod:
                settlement.repeated.insert(judged[index].purchase.transactionID)
                // The granted transaction is of the same subscription, or one of the two subscriptions continues the
                // other. So the player owns the purchase's subscription too.
                view.enterClaim(of: judged[index], decision: self)
                outcome = (.alreadyGranted, .alreadyGranted)
            }
            var listed = TransactionOutcome(
                transactionID: judged[index].purchase.transactionID, productID: judged[index].purchase.productID,
                outcome: outcome.0, reason: outcome.1)
            listed.unreadable = judged[index].purchase.unreadable
            settlement.outcomes.append(listed)
        }
        for (index, payload) in toGrant {
            var event = OutcomeEvent.granted(
                judged[index].purchase, payload: payload, to: submission, from: source, environment: environment,
                at: decidedAt,
                risk: signals(on: judged[index].purchase, in: view), repair: repair, transactions: settlement.outcomes)
            event.period = period(of: judged[index])
            let (transaction, product) = (judged[index].purchase.transactionID, judged[index].purchase.productID)
            view.grants[transaction]?.event = event.value
            view.won?[identity, default: []].append(
                LedgerView.WonTransaction(transactionID: transaction, productID: product, event: event))
            settlement.grants.append(newGrant(of: judged[index], event, in: view))
        }
        for index in settlement.holds.indices {
            settlement.holds[index].risk = signals(on: settlement.holds[index].purchase, in: view)
        }
        let held = judged.last { held in
            settlement.outcomes.last { $0.outcome == .held }?.transactionID == held.purchase.transactionID
        }
        settlement.answer = answer(for: settlement, risk: held.map { signals(on: $0.purchase, in: view) } ?? [])
        return settlement
    }

    /// Returns the settlement of a purchase. In another player's receipt, rejects each purchase that `leavesToOwner`.
    /// - Parameter isOfAnother: the result of `isReceiptOfAnother`.
    private func submitted(
        _ judged: JudgedPurchase, inReceiptOfAnother isOfAnother: Bool, in view: LedgerView
    ) -> PurchaseSettlement {
        let settled = settlement(of: judged, in: view)
        if isOfAnother, settled.claims, leavesToOwner(judged, in: view) { return .reject(.ownedByOtherPlayer) }
        // A worker will process the record of the lost grant again. A hold would prevent the new grant.
        if case .hold = settled, !isDecidedAgain, view.lostGrant(of: judged, in: self) != nil {
            return .reject(.alreadyGranted)
        }
        return settled
    }

    private func endHold(
        of transaction: StoreTransactionID, in settlement: inout Settlement, _ view: inout LedgerView
    ) {
        guard view.holds[transaction]?[submission.playerID] != nil else { return }
        settlement.endedHolds.append(transaction)
        view.endHold(of: transaction, submission.playerID)
    }

    private func hold(
        _ judged: JudgedPurchase, for reason: Reason, in settlement: inout Settlement, _ view: inout LedgerView
    ) {
        settlement.holds.append(Settlement.NewHold(purchase: judged.purchase, kind: judged.kind, reason: reason))
        view.enterHold(of: judged, decision: self, reason: reason)
    }

    private func answer(for settlement: Settlement, risk: [RiskSignal]) -> OutcomeEvent? {
        if let held = settlement.outcomes.last(where: { $0.outcome == .held }), let reason = held.reason {
            return answer(.held, reason, settlement.outcomes, risk: risk)
        }
        guard settlement.grants.isEmpty, settlement.reissued.isEmpty else { return nil }
        let isGrantedAlready = settlement.outcomes.contains { $0.outcome == .alreadyGranted }
        let reason = isGrantedAlready ? .alreadyGranted : settlement.outcomes.last?.reason ?? .noPurchase
        return answer(.rejected, reason, settlement.outcomes)
    }

    private func answer(
        _ kind: OutcomeEvent.Kind, _ reason: Reason, _ outcomes: [TransactionOutcome], risk: [RiskSignal] = []
    ) -> OutcomeEvent {
        .answer(
            kind, reason: reason, to: self, risk: risk, transactions: outcomes)
    }
}
