extension PendingDecision {
    /// What the ledger says of one purchase, which comes before what the rules say of it.
    enum Finding {
        case free
        /// This very submission won it. Nil: a grant without an event, from an earlier system.
        case grantedToThis(OutcomeEvent?)
        case against(Reason)
        /// Another player was granted it without its token, which this submission has.
        case disputed
        /// The app requires tokens, and this one was learnt as another player's.
        case tokenOfAnother
        case stillHeld(Reason)
    }

    func finding(on judged: JudgedPurchase, in view: LedgerView) -> Finding {
        let finding = ownership(of: judged, in: view)
        guard case .free = finding else { return finding }
        if view.isRefunded(judged, of: self) { return .against(judged.reasonOfRefunded) }
        // What is refused whoever the player is, is nothing to dispute about.
        if case .reject = judged.verdict { return .free }
        let isAnothers = tokenUse == .holds && isBound(judged.purchase) && isTokenOfAnother(judged.purchase, in: view)
        return isAnothers ? .tokenOfAnother : .free
    }

    private func ownership(of judged: JudgedPurchase, in view: LedgerView) -> Finding {
        let purchase = judged.purchase
        let player = submission.playerID
        if let grant = view.grants[purchase.transactionID] {
            if grant.player != player { return finding(on: purchase, grantedToOther: grant, in: view) }
            if grant.submission == identity { return .grantedToThis(grant.event.flatMap(OutcomeEvent.init(stored:))) }
            return .against(grant.isRevoked ? judged.reasonOfRefunded : .alreadyGranted)
        }
        if let hold = view.holds[purchase.transactionID] {
            if hold.player == player { return .stillHeld(hold.reason) }
            // A dispute claims nothing: the purchase is free for the one whose it is.
            if hold.reason != .ownershipDisputed { return .against(.ownedByOtherPlayer) }
        }
        if view.refusals[purchase.transactionID]?.contains(player) == true { return .against(.refusedByOperator) }
        guard judged.isOwnedByOriginal, let claim = view.claims[purchase.originalTransactionID] else { return .free }
        if let owner = claim.player, owner != player { return .against(.ownedByOtherPlayer) }
        let isNonConsumable = judged.kind == .nonConsumable
        if isNonConsumable, claim.grantedTransaction != nil { return .against(.alreadyGranted) }
        return .free
    }

    private func finding(
        on purchase: StorePurchase, grantedToOther grant: LedgerView.Grant, in view: LedgerView
    ) -> Finding {
        guard isBound(purchase), !grant.isBound, !grant.isRevoked else { return .against(.ownedByOtherPlayer) }
        if view.refusals[purchase.transactionID]?.contains(submission.playerID) == true {
            return .against(.refusedByOperator)
        }
        if let hold = view.holds[purchase.transactionID] {
            return hold.player == submission.playerID ? .stillHeld(hold.reason) : .against(.ownedByOtherPlayer)
        }
        return .disputed
    }

    /// The submission's token is the transaction's.
    public func isBound(_ purchase: StorePurchase) -> Bool {
        submission.appAccountToken != nil && submission.appAccountToken == purchase.appAccountToken
    }
}

extension JudgedPurchase {
    /// The order of reasons: who it is bound to comes before what became of it.
    fileprivate var reasonOfRefunded: Reason {
        switch verdict {
        case .reject(.bindingMismatch): .bindingMismatch
        case .reject(.upgraded): .upgraded
        default: .cancelled
        }
    }
}

extension LedgerView {
    mutating func enterGrant(of judged: JudgedPurchase, decision: PendingDecision) {
        let purchase = judged.purchase
        enterClaim(of: judged, player: decision.submission.playerID)
        if judged.kind == .nonConsumable {
            claims[purchase.originalTransactionID]?.grantedTransaction = purchase.transactionID
        }
        grants[purchase.transactionID] = Grant(
            player: decision.submission.playerID, submission: decision.identity, isRevoked: false, event: nil,
            isBound: decision.isBound(purchase))
        if decision.risk != nil {
            risk.purchasesOfDay[decision.playerDay(of: purchase), default: 0] += 1
            if let account = purchase.appTransactionID {
                risk.accountsOfPlayer[decision.playerOfApp, default: []].insert(account)
            }
        }
        decision.enterToken(of: purchase, isGranted: true, in: &self)
        if judged.dailyLimit != nil { dailyCounts[decision.dailyCount(of: purchase), default: 0] += 1 }
    }

    mutating func enterHold(of judged: JudgedPurchase, decision: PendingDecision, reason: Reason) {
        let player = decision.submission.playerID
        if reason == .ownershipDisputed {
            let original = judged.purchase.originalTransactionID
            // Nobody's, but a row to lock.
            if claims[original] == nil { claims[original] = Claim(player: nil) }
        } else {
            enterClaim(of: judged, player: player)
        }
        holds[judged.purchase.transactionID] = Hold(player: player, reason: reason)
        decision.enterToken(of: judged.purchase, isGranted: false, in: &self)
    }

    private mutating func enterClaim(of judged: JudgedPurchase, player: PlayerID) {
        let original = judged.purchase.originalTransactionID
        if claims[original]?.player == nil {
            claims[original, default: Claim(player: player)].player = player
        }
    }
}
