import NamesAndTimes

/// The result for one purchase, after the worker compared the purchase's verdict with the ledger.
enum PurchaseSettlement {
    /// An earlier decision granted the purchase to this submission. The event is the grant's; nil if the stored bytes
    /// cannot be read.
    case won(OutcomeEvent?)
    case grant(payload: String?)
    case hold(Reason)
    /// The purchase stays held for this player.
    case stillHeld(Reason)
    case reject(Reason)
    /// The purchase's period is granted to this player by another transaction.
    case repeatedPeriod

    /// True if the player gets the purchase, at once or after an operator's release.
    var claims: Bool {
        switch self {
        case .grant, .hold: true
        case .won, .stillHeld, .reject, .repeatedPeriod: false
        }
    }
}

extension PendingDecision {
    /// Returns the settlement of a purchase. The checks have the order of `Rule.ofTransaction`: the ledger's facts
    /// about the purchase take precedence over its verdict. Only a dispute about the owner comes after a verdict that
    /// rejects the purchase.
    func settlement(
        of judged: JudgedPurchase, in view: LedgerView, waived: Set<Reason> = []
    ) -> PurchaseSettlement {
        let judged = view.withKindOfCopy(judged)
        if let known = ownership(of: judged, in: view, waived) { return known }
        // The player of a lost grant has the goods. A later record of `player-accounts` does not take them back.
        let isLost = view.lostGrant(of: judged, in: self) != nil
        if !isLost, isRefusedUnderAnotherID(judged, in: view) { return .reject(.refusedByOperator) }
        if !isLost, isTokenToldOfAnother(judged.purchase, in: view) { return .reject(.bindingMismatch) }
        if view.isRefunded(judged, of: self) {
            return grant(ofRefunded: judged, in: view, waived) ?? .reject(judged.reasonOfRevoked())
        }
        if view.isTakenBackByOperator(judged) { return .reject(judged.reasonOfRevoked(byOperator: true)) }
        // The rules refuse the purchase to every player, so a dispute about its owner would help nobody.
        if case .reject(let reason) = judged.verdict { return .reject(reason) }
        if view.isPeriodGranted(judged, in: app) { return .repeatedPeriod }
        if !isLost, isOwnerDisputed(waived) || isTokenDisputed(judged.purchase, in: view, waived) {
            return .hold(.ownershipDisputed)
        }
        switch judged.verdict {
        case .grant where !isLost && !view.hasRoom(for: judged, of: self): return .hold(.dailyLimit)
        case .grant(let payload): return .grant(payload: payload)
        case .hold(let reason): return .hold(reason)
        case .reject(let reason): return .reject(reason)
        }
    }

    /// Returns the grant of a refunded purchase if the database may have lost a decision on the purchase, and the other
    /// rules grant the purchase. Otherwise returns nil. A lost grant may have reached the game. Only a revocation takes
    /// the goods back, and a revocation needs a grant.
    private func grant(
        ofRefunded judged: JudgedPurchase, in view: LedgerView, _ waived: Set<Reason>
    ) -> PurchaseSettlement? {
        guard isDecidedAgain, case .grant(let payload) = judged.verdict, !view.isTakenBackByOperator(judged),
            !view.isPeriodGranted(judged, in: app), !isOwnerDisputed(waived),
            !isTokenDisputed(judged.purchase, in: view, waived)
        else { return nil }
        return .grant(payload: payload)
    }

    /// Returns the settlement that the ledger's grants, holds, refusals and claims decide; nil if none of them decides.
    private func ownership(
        of judged: JudgedPurchase, in view: LedgerView, _ waived: Set<Reason>
    ) -> PurchaseSettlement? {
        let purchase = judged.purchase
        let player = submission.playerID
        if let grant = view.grants[purchase.transactionID] {
            if grant.player != player { return dispute(of: purchase, with: grant, in: view, waived) }
            if grant.submission == identity {
                return .won(grant.event.flatMap { OutcomeEvent(stored: $0, period: period(of: judged)) })
            }
            let byOperator = grant.operatorRevokedAt != nil
            return .reject(grant.isRevoked ? judged.reasonOfRevoked(byOperator: byOperator) : .alreadyGranted)
        }
        let other = view.otherTransaction(of: judged, in: self)
        if let grant = other.flatMap({ view.grants[$0] }) {
            if grant.player != player { return dispute(of: purchase, with: grant, in: view, waived) }
            let byOperator = grant.operatorRevokedAt != nil
            return grant.isRevoked ? .reject(judged.reasonOfRevoked(byOperator: byOperator)) : .repeatedPeriod
        }
        let lost = view.lostGrant(of: judged, in: self)
        for transaction in [purchase.transactionID, other].compactMap(\.self) {
            if let own = view.holds[transaction]?[player] {
                if isGrantedAgain(judged, lost, in: view) { break }
                return .stillHeld(own.reason)
            }
            if let claiming = view.claimingHold(of: transaction) {
                return dispute(of: purchase, isOtherBound: claiming.hold.isBound, in: view, waived)
            }
        }
        if let lost {
            if lost.player != player { return .reject(.ownedByOtherPlayer) }
            if lost.transaction != purchase.transactionID { return .repeatedPeriod }
        }
        if view.refusals[purchase.transactionID]?.contains(player) == true { return .reject(.refusedByOperator) }
        guard judged.isOwnedByOriginal,
            let claim = view.claim(of: purchase, in: app, isReleased: waived.contains(.ownershipDisputed))
        else { return nil }
        // If an announced purchase's token names another player than the owner, an operator decides between the two. A
        // player with a lost grant of the purchase keeps the purchase, even if another player owns the original
        // transaction by now.
        if let owner = claim.player, owner != player, lost == nil, announced?.disputesOwner != true {
            return .reject(.ownedByOtherPlayer)
        }
        // If the database lost a copy's grant, the game already has the copy, and the worker grants the copy again. A
        // revocation can take the copy back only if the copy has a grant.
        guard judged.kind == .nonConsumable, lost == nil,
            claim.grantedTransaction != nil || view.isInForce(purchase.originalTransactionID)
        else { return nil }
        if claim.player == player { return .reject(.alreadyGranted) }
        // A worker grants a non-consumable only once. So the owner keeps the non-consumable, even if an operator has
        // released this player's hold.
        return isOwnerDisputed(waived) ? nil : .reject(.ownedByOtherPlayer)
    }

    /// Returns whether an operator refused the purchase to this player under another id. The other id is the id of the
    /// purchase's subscription period, or the original transaction of a non-consumable.
    private func isRefusedUnderAnotherID(_ judged: JudgedPurchase, in view: LedgerView) -> Bool {
        let original = judged.kind == .nonConsumable ? judged.purchase.originalTransactionID : nil
        return [period(of: judged), original].compactMap(\.self).contains { id in
            view.refusals[id]?.contains(submission.playerID) == true
        }
    }

    /// Returns whether the player has a lost grant of the purchase, and the rules still grant the purchase. The new
    /// grant ends the player's hold.
    private func isGrantedAgain(
        _ judged: JudgedPurchase, _ lost: (player: PlayerID, transaction: StoreTransactionID)?, in view: LedgerView
    ) -> Bool {
        guard let lost, lost == (submission.playerID, judged.purchase.transactionID) else { return false }
        if case .grant = judged.verdict { return !view.isRefunded(judged, of: self) }
        return false
    }

    private func dispute(
        of purchase: StorePurchase, with grant: LedgerView.Grant, in view: LedgerView, _ waived: Set<Reason>
    ) -> PurchaseSettlement {
        dispute(of: purchase, isOtherBound: grant.isBound || grant.isRevoked, in: view, waived)
    }

    /// Returns the settlement of a purchase of which another player has a grant or a hold. The purchase is disputed if
    /// this submission has the purchase's account token and the other player's submission lacked it.
    private func dispute(
        of purchase: StorePurchase, isOtherBound: Bool, in view: LedgerView, _ waived: Set<Reason>
    ) -> PurchaseSettlement {
        guard isBound(purchase), !isOtherBound else { return .reject(.ownedByOtherPlayer) }
        if view.refusals[purchase.transactionID]?.contains(submission.playerID) == true {
            return .reject(.refusedByOperator)
        }
        if let own = view.holds[purchase.transactionID]?[submission.playerID] { return .stillHeld(own.reason) }
        // A worker grants a transaction only once. So the other player keeps the transaction, even if an operator has
        // released this player's hold.
        return waived.contains(.ownershipDisputed) ? .reject(.ownedByOtherPlayer) : .hold(.ownershipDisputed)
    }

    /// Returns whether the purchase's token names this player, by `player-accounts` or by the catalog, although another
    /// player owns the original transaction. Returns false if an operator has ended the dispute.
    private func isOwnerDisputed(_ waived: Set<Reason>) -> Bool {
        announced?.disputesOwner == true && !waived.contains(.ownershipDisputed)
    }

    /// Returns whether the app requires account tokens, and the ledger learnt the purchase's token as another player's.
    /// Returns false if an operator has ended the dispute.
    private func isTokenDisputed(_ purchase: StorePurchase, in view: LedgerView, _ waived: Set<Reason>) -> Bool {
        tokenUse == .holds && ownerOfCopied(purchase, in: view) != nil
            && !waived.contains(.ownershipDisputed)
    }

    /// Returns whether the submission has the transaction's account token.
    public func isBound(_ purchase: StorePurchase) -> Bool {
        submission.appAccountToken != nil && submission.appAccountToken == purchase.appAccountToken
    }
}

extension JudgedPurchase {
    /// Returns the reason to reject a revoked purchase. This is the verdict's reason if that reason precedes the
    /// revocation in the contract's order, and otherwise the revocation's reason.
    fileprivate func reasonOfRevoked(byOperator: Bool = false) -> Reason {
        switch verdict {
        case .reject(.bindingMismatch): .bindingMismatch
        case .reject(.upgraded): .upgraded
        case .reject(.cancelled): .cancelled
        default: byOperator ? .revokedByOperator : .cancelled
        }
    }
}

extension LedgerView {
    /// Returns whether an operator revoked the non-consumable. The revocation covers all restored copies. The date of a
    /// restored copy is the date of its restore, so the date decides nothing. A new purchase has a new original
    /// transaction. A subscription's later period does not count as a copy, because the player paid for that period.
    fileprivate func isTakenBackByOperator(_ judged: JudgedPurchase) -> Bool {
        let original = judged.purchase.originalTransactionID
        return judged.kind == .nonConsumable
            && (claims[original]?.operatorRevokedAt ?? grants[original]?.operatorRevokedAt) != nil
    }

    /// Returns the purchase as a non-consumable if a worker granted a restored copy of it. Then the catalog calls the
    /// product a consumable by mistake, or lacks the product. Only non-consumables have restored copies.
    fileprivate func withKindOfCopy(_ judged: JudgedPurchase) -> JudgedPurchase {
        let original = judged.purchase.originalTransactionID
        guard !judged.isOwnedByOriginal, let claim = claims[original],
            claim.operatorRevokedAt != nil
                || [claim.grantedTransaction, claim.lostTransaction].contains(where: { $0 != nil && $0 != original })
        else { return judged }
        return judged.settled(as: .nonConsumable)
    }

    /// Returns whether the transaction is granted and not revoked. A non-consumable's claim does not name a grant that
    /// was made while the catalog called the product a consumable.
    fileprivate func isInForce(_ transaction: StoreTransactionID) -> Bool {
        grants[transaction].map { !$0.isRevoked } ?? false
    }

    mutating func enterGrant(of judged: JudgedPurchase, decision: PendingDecision) {
        let purchase = judged.purchase
        // The SQL transaction that grants a wholly refunded purchase also revokes the grant. So the grant does not bar
        // another purchase.
        let isRevoked = isRefunded(judged, of: decision)
        enterClaim(of: judged, decision: decision)
        enterPeriod(of: judged, decision: decision)
        grants[purchase.transactionID] = Grant(
            player: decision.submission.playerID, submission: decision.identity, isRevoked: isRevoked, event: nil,
            isBound: decision.isBound(purchase))
        if decision.risk != nil, let account = purchase.appTransactionID {
            risk.accountsOfPlayer[decision.playerOfApp, default: []].insert(account)
        }
        decision.enterToken(of: purchase, isGranted: true, in: &self)
        guard !isRevoked else { return }
        // The worker may grant a lost copy again while another copy has a grant in force. Then the claim keeps the
        // transaction of the other copy, so that a refund of the other copy frees the claim.
        if judged.kind == .nonConsumable,
            claims[purchase.originalTransactionID]?.grantedTransaction == nil
                || lostGrant(of: judged, in: decision) == nil
        {
            claims[purchase.originalTransactionID]?.grantedTransaction = purchase.transactionID
        }
        if decision.risk != nil { risk.purchasesOfDay[decision.playerDay(of: purchase), default: 0] += 1 }
        if let period = judged.period {
            periods[period, default: [:]][purchase.transactionID] = purchase.purchasedAt
        }
        if judged.dailyLimit != nil { dailyCounts[decision.dailyCount(of: purchase), default: 0] += 1 }
    }

    mutating func enterHold(of judged: JudgedPurchase, decision: PendingDecision, reason: Reason) {
        if reason == .ownershipDisputed {
            let original = judged.purchase.originalTransactionID
            // A dispute claims nothing. The claim without an owner only gives workers a row to lock.
            if claims[original] == nil { claims[original] = Claim(player: nil) }
        } else {
            enterClaim(of: judged, decision: decision)
            enterPeriod(of: judged, decision: decision)
        }
        holds[judged.purchase.transactionID, default: [:]][decision.submission.playerID] = Hold(
            reason: reason, isBound: decision.isBound(judged.purchase))
        decision.enterToken(of: judged.purchase, isGranted: false, in: &self)
    }

    /// Makes the player the owner of the original transaction if nobody owns it yet.
    mutating func enterClaim(of judged: JudgedPurchase, decision: PendingDecision) {
        let original = judged.purchase.originalTransactionID
        let player = decision.submission.playerID
        if claims[original]?.player == nil {
            claims[original, default: Claim(player: player)].player = player
        }
        if judged.kind != .consumable { claimApps[original, default: []].insert(decision.app) }
    }
}
