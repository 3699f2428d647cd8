/// A reason for which a submitter may not get a purchase. If the obstacle is certain, the submitter never gets the
/// purchase, unless the obstacle is a hold that an operator or a new catalog ends.
struct Obstacle: Hashable {
    let reason: String
    let isHold: Bool
    let isCertain: Bool

    static func never(_ reason: String) -> Obstacle { Obstacle(reason: reason, isHold: false, isCertain: true) }
    static func maybe(_ reason: String) -> Obstacle { Obstacle(reason: reason, isHold: false, isCertain: false) }
    static func held(_ reason: String) -> Obstacle { Obstacle(reason: reason, isHold: true, isCertain: true) }
    static func maybeHeld(_ reason: String) -> Obstacle { Obstacle(reason: reason, isHold: true, isCertain: false) }
}

/// A submission, or an announcement by Apple, through which a player may get a purchase.
struct Claim {
    let player: String
    /// True if this player must get the purchase, unless another player has an earlier claim.
    let isCertain: Bool
    /// The submission that claims the purchase; nil for a purchase that Apple announced.
    let submission: Submission?
    /// The index of the submission among all; nil for a purchase that Apple announced.
    var number: Int?
}

extension Model {
    static let hour: Int64 = 3_600_000

    func claims(on purchase: Purchase) -> [Claim] {
        var claims: [Claim] = []
        for (number, submission) in facts.submissions.enumerated() {
            guard var claim = claim(of: submission, on: purchase) else { continue }
            claim.number = number
            claims.append(claim)
        }
        return claims + toldClaims(on: purchase)
    }

    /// Returns the claim of a submission on a purchase. Returns nil if the submitter can never get the purchase by this
    /// submission.
    private func claim(of submission: Submission, on purchase: Purchase) -> Claim? {
        guard whole(submission).allSatisfy({ !$0.isCertain }) else { return nil }
        let isHeld = submission.holds.contains(purchase.id)
        guard isHeld || isRevealed(purchase, submission) || isFinishedEarly(purchase, submission) else { return nil }
        let obstacles = obstacles(submission, purchase)
        guard !obstacles.contains(where: { $0.isCertain && !isReleased($0, purchase) }) else { return nil }
        return Claim(
            player: submission.player,
            isCertain: isHeld && obstacles.isEmpty && whole(submission).isEmpty, submission: submission)
    }

    /// Returns true if an operator or a new catalog ends the hold that the obstacle causes.
    private func isReleased(_ obstacle: Obstacle, _ purchase: Purchase) -> Bool {
        guard obstacle.isHold else { return false }
        return facts.operators.contains { $0.order == .release && $0.transactionID == purchase.id }
            || facts.apps[purchase.bundleID]?.changed.contains(purchase.productID) ?? false
    }

    /// Returns true if Apple's answer to this submission lists the purchase. For a receipt with a subscription, Apple
    /// lists all purchases of the Apple account.
    func isRevealed(_ purchase: Purchase, _ submission: Submission) -> Bool {
        submission.form == .receipt
            && submission.holds.contains { id in
                guard let held = facts.purchases[id] else { return false }
                return held.kind == .autoRenewable && held.account == purchase.account
                    && held.bundleID == purchase.bundleID
            }
    }

    /// Returns true if the client may have finished the hinted purchase before the device made this receipt. The
    /// receipt then lacks the purchase. The worker may grant the purchase nevertheless, instead of rejecting the
    /// submission with `product_mismatch`.
    func isFinishedEarly(_ purchase: Purchase, _ submission: Submission) -> Bool {
        guard let app = facts.apps[submission.bundleID], app.hasServerAPI, let hint = submission.hint,
            submission.form == .receipt, purchase.productID == hint, !purchase.isFamilyShared
        else { return false }
        let held = submission.holds.compactMap { facts.purchases[$0] }
        return held.allSatisfy { $0.productID != hint } && held.contains { $0.account == purchase.account }
            && abs(purchase.purchasedAt - submission.signedAt) <= Self.hour
            && (purchase.token == nil || purchase.token == submission.token)
            && held.allSatisfy { owner(of: $0.id) ?? submission.player == submission.player }
    }

    /// Returns the claims of the players to whom the account token of an announced purchase belongs.
    private func toldClaims(on purchase: Purchase) -> [Claim] {
        guard let app = facts.apps[purchase.bundleID], app.missed == .grant || app.changesMissed,
            purchase.purchasedAt >= app.grantsSince, let token = purchase.token, let told = purchase.toldAt.first
        else { return [] }
        let players = (app.accounts[token] ?? []).union(app.tokenIsPlayer ? [token] : [])
        let isOver = purchase.expiresAt.map { $0 <= told } ?? false
        guard !isOver, !purchase.isFamilyShared else { return [] }
        let isCertain =
            !isRefunded(purchase.goods) && !purchase.isUpgraded && app.status(purchase.productID) == .active
            && !app.changed.contains(purchase.productID) && !app.limited.contains(purchase.productID)
            && players.count == 1 && !app.changesMissed
        return players.map { Claim(player: $0, isCertain: isCertain, submission: nil) }
    }

    /// Returns the reasons with which the worker must or may reject the whole submission.
    func whole(_ submission: Submission) -> [Obstacle] {
        if submission.quality == .malformed { return [.never("malformed_submission")] }
        guard let app = facts.apps[submission.bundleID] else { return [.never("unknown_app")] }
        if submission.quality == .unreadable || submission.oddity == .identity, submission.quality != .forged {
            return [.never("malformed_receipt")]
        }
        if submission.proofBundleID != submission.bundleID { return [.never("foreign_app")] }
        if submission.quality == .forged { return [.never("unauthentic_receipt")] }
        if let refusal = submission.refusal { return [.never(refusal)] }
        var found: [Obstacle] = []
        switch submission.form {
        case .receipt:
            if submission.holds.isEmpty { found.append(.never("no_purchase")) }
            if submission.quality == .unproven { found.append(.maybe("no_purchase")) }
        case .transactionID:
            if !app.hasServerAPI { found.append(.maybe("transaction_not_found")) }
            if submission.holds.isEmpty { found.append(.never("transaction_not_found")) }
            // The worker asks eight times before it believes that the id is unknown, and each time asks both
            // environments.
            if submission.holds.contains(where: { facts.conditions.unknownAtApple[$0] ?? 0 >= 16 }) {
                found.append(.maybe("transaction_not_found"))
            }
        case .signedTransaction: break
        }
        if let hint = submission.hint, !submission.holds.isEmpty,
            submission.holds.allSatisfy({ facts.purchases[$0]?.productID != hint })
        {
            let mayBeThere =
                submission.form == .receipt
                && (app.hasServerAPI || facts.purchases.values.contains { isRevealed($0, submission) })
            found.append(mayBeThere ? .maybe("product_mismatch") : .never("product_mismatch"))
            // The submission may contain another player's purchase.
            found.append(.maybe("owned_by_other_player"))
        }
        return found
    }

    /// Returns the obstacles of one transaction, in the order of the contract's reasons. Ownership by another player is
    /// not among the obstacles, except a dispute over the account token.
    func obstacles(_ submission: Submission, _ purchase: Purchase) -> [Obstacle] {
        guard let app = facts.apps[submission.bundleID] else { return [] }
        var found = binding(submission, purchase, app)
        if purchase.isUpgraded { found.append(.maybe("upgraded")) }
        let copies = copies(of: purchase.goods)
        if copies.contains(where: { !$0.refunds.isEmpty }) { found.append(.maybe("cancelled")) }
        // The worker may have followed an operator's order that the restore of the database lost.
        if facts.operators.contains(where: { order in
            order.order == .revoke && copies.contains { $0.id == order.transactionID }
        }) || copies.contains(where: { facts.conditions.lostOrders.contains($0.id) }) {
            found.append(.maybe("revoked_by_operator"))
        }
        if purchase.isFamilyShared { found.append(.never("family_shared")) }
        if let expiresAt = purchase.expiresAt, purchase.kind == .autoRenewable {
            // A purchase that only Apple's answer lists may be later than the record. Then the worker judges by the
            // present time.
            let isBehind = submission.judgedAt.map { $0 < purchase.purchasedAt } ?? false
            let time = isBehind ? facts.conditions.now : submission.judgedAt ?? facts.conditions.now
            let isInGrace =
                purchase.isInGrace && submission.knownGraces.contains(purchase.id)
                && !facts.conditions.wasPutBack && time < purchase.graceEnd ?? 0
            if min(purchase.firstEnd ?? expiresAt, expiresAt) <= time, !isInGrace {
                // Section 4 of the contract: the worker rejects a period that is over. If the worker knows a grace
                // period, the grace period must be over too.
                let end = max(expiresAt, purchase.graceEnd ?? expiresAt)
                let isCertain = !app.followsRenewals && !isBehind && end <= time
                found.append(isCertain ? .never("subscription_expired") : .maybe("subscription_expired"))
            }
        }
        if submission.oddity == .decidingFact {
            found.append(app.hasServerAPI ? .maybeHeld("unreadable_transaction") : .held("unreadable_transaction"))
        }
        switch app.status(purchase.productID) {
        case .active: if app.changed.contains(purchase.productID) { found += Self.changedProduct }
        case .unknown: found.append(.held("unknown_product"))
        case .retiredHold: found.append(.held("retired_product"))
        }
        if app.limited.contains(purchase.productID) { found.append(.maybeHeld("daily_limit")) }
        // An operator's refusal covers each id of the same goods. The worker remembers the refusal for the hold's
        // player only.
        let isRefused = { (copy: Purchase) in
            facts.operators.contains {
                $0.order == .refuse && $0.transactionID == copy.id && mayHaveWaited(submission.player, for: copy, $0)
            }
        }
        if copies.contains(where: { isRefused($0) || facts.conditions.lostOrders.contains($0.id) }) {
            found.append(.maybe("refused_by_operator"))
        }
        return found
    }

    /// Returns true if the player may have had a hold of the purchase at the time of the order.
    private func mayHaveWaited(_ player: String, for purchase: Purchase, _ order: OperatorAct) -> Bool {
        toldClaims(on: purchase).contains { $0.player == player }
            || facts.submissions.prefix(order.submissions).contains {
                $0.player == player && ($0.holds.contains(purchase.id) || isRevealed(purchase, $0))
            }
    }

    private static let changedProduct = [Obstacle.maybeHeld("unknown_product"), .maybeHeld("retired_product")]

    private func binding(_ submission: Submission, _ purchase: Purchase, _ app: App) -> [Obstacle] {
        let (given, signed) = (submission.token, purchase.token)
        // A receipt contains no tokens. Apple's answer shows the tokens if the receipt has a subscription.
        let isTold = submission.form != .receipt
        var found: [Obstacle] = []
        if let given, let signed, given != signed {
            found.append(isTold ? .never("binding_mismatch") : .maybe("binding_mismatch"))
        }
        if app.requiresToken {
            if given == nil { found.append(.never("binding_mismatch")) }
            if given != nil, signed == nil { found.append(.held("binding_missing")) }
            if given != nil, signed != nil, !isTold { found.append(.maybeHeld("binding_missing")) }
        }
        let isPossessed =
            submission.form == .receipt || submission.form == .signedTransaction && submission.quality == .proven
        if !isPossessed, given == nil || given != signed { found.append(.never("binding_mismatch")) }
        if app.tokenIsPlayer, let signed, signed != submission.player {
            found.append(isTold ? .never("binding_mismatch") : .maybe("binding_mismatch"))
        }
        let named = [given, signed].compactMap { $0 }.flatMap { app.accounts[$0] ?? [] }
        if named.contains(where: { $0 != submission.player }) {
            found += [.maybe("binding_mismatch"), .maybeHeld("ownership_disputed")]
        }
        if app.tokenIsPlayer, let given, given != submission.player { found.append(.maybe("binding_mismatch")) }
        if given != nil, given == signed || app.requiresToken || !isTold {
            found.append(contentsOf: dispute(submission, purchase, app))
        }
        return found
    }
}
