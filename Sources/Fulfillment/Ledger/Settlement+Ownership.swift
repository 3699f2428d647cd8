extension PendingDecision {
    /// What the ledger says of one purchase, which comes before what the rules say of it.
    enum Finding {
        case free
        /// This very submission won it. Nil: a grant without an event, from an earlier system.
        case grantedToThis(OutcomeEvent?)
        case against(Reason)
        case stillHeld(Reason)
    }

    func finding(on judged: JudgedPurchase, in view: LedgerView) -> Finding {
        let purchase = judged.purchase
        let player = submission.playerID
        if let grant = view.grants[purchase.transactionID] {
            if grant.player != player { return .against(.ownedByOtherPlayer) }
            if grant.submission == identity { return .grantedToThis(grant.event.flatMap(OutcomeEvent.init(stored:))) }
            return .against(grant.isRevoked ? .cancelled : .alreadyGranted)
        }
        if let hold = view.holds[purchase.transactionID] {
            if hold.player == player { return hold.isRefused ? .against(.refusedByOperator) : .stillHeld(hold.reason) }
            if !hold.isRefused { return .against(.ownedByOtherPlayer) }
        }
        guard judged.isOwnedByOriginal, let claim = view.claims[purchase.originalTransactionID] else { return .free }
        if let owner = claim.player, owner != player { return .against(.ownedByOtherPlayer) }
        let isNonConsumable = judged.kind == .nonConsumable
        if isNonConsumable, claim.grantedTransaction != nil { return .against(.alreadyGranted) }
        return .free
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
            player: decision.submission.playerID, submission: decision.identity, isRevoked: false, event: nil)
    }

    mutating func enterHold(of judged: JudgedPurchase, player: PlayerID, reason: Reason) {
        enterClaim(of: judged, player: player)
        holds[judged.purchase.transactionID] = Hold(player: player, reason: reason, isRefused: false)
    }

    private mutating func enterClaim(of judged: JudgedPurchase, player: PlayerID) {
        let original = judged.purchase.originalTransactionID
        if claims[original]?.player == nil {
            claims[original, default: Claim(player: player)].player = player
        }
    }
}
