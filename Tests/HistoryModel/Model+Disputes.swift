/// Judges answers about purchases that another player may own or hold. The contract's reasons for such answers are
/// `ownership_disputed` and `owned_by_other_player`.
extension Model {
    func verdictsBesideAnother(_ submission: Submission, _ purchase: Purchase) -> Set<String> {
        // A receipt does not show the account token of each purchase.
        let isTold = submission.form != .receipt && submission.oddity == nil
        guard let given = submission.token, given == purchase.token || !isTold else {
            return ["rejected owned_by_other_player"]
        }
        return isTold && othersLackTheToken(purchase, besides: submission.player)
            ? ["held ownership_disputed"] : ["rejected owned_by_other_player", "held ownership_disputed"]
    }

    /// Returns true if every other player who can have the purchase has certainly submitted it without a token.
    private func othersLackTheToken(_ purchase: Purchase, besides player: String) -> Bool {
        let conditions = facts.conditions
        guard purchase.goods == "transaction \(purchase.id)", purchase.refunds.isEmpty, !conditions.wasPutBack,
            conditions.erased.isEmpty, !facts.operators.contains(where: { $0.transactionID == purchase.id })
        else { return false }
        let claims = claims(on: purchase).filter { $0.player != player }
        let others = facts.submissions.filter {
            $0.player != player && ($0.holds.contains(purchase.id) || isRevealed(purchase, $0))
        }
        return claims.allSatisfy { $0.submission.map { $0.token == nil } ?? false }
            && others.allSatisfy { $0.token == nil }
    }

    /// Returns the obstacle `ownership_disputed` if another player may have the purchase, or if the worker may know the
    /// token as another player's.
    func dispute(_ submission: Submission, _ purchase: Purchase, _ app: App) -> [Obstacle] {
        let group = relatives(of: purchase)
        let isOthers =
            !transferred([purchase]).isEmpty
            || facts.submissions.contains { other in
                other.player != submission.player && other.bundleID == purchase.bundleID
                    && group.contains { other.holds.contains($0.id) || isRevealed($0, other) }
            }
            || group.contains { owner(of: $0.id).map { $0 != submission.player } ?? false }
        return isOthers || isLearnt(submission, purchase, app) ? [.maybeHeld("ownership_disputed")] : []
    }

    /// Returns true if the worker may know one of the tokens as another player's. The worker learns a token when it
    /// grants a purchase with the token. A learnt token leads to a hold only in apps that require tokens. After a
    /// restore or an erasure, the worker may know a token from a grant that the database no longer has.
    private func isLearnt(_ submission: Submission, _ purchase: Purchase, _ app: App) -> Bool {
        let tokens = Set([submission.token, purchase.token].compactMap(\.self))
        func carries(_ id: String) -> Bool {
            facts.purchases[id].map { $0.bundleID == purchase.bundleID && tokens.contains($0.token ?? "") } ?? false
        }
        guard app.requiresToken else { return false }
        if facts.conditions.wasPutBack || !facts.conditions.erased.isEmpty {
            return facts.submissions.contains { $0.player != submission.player && $0.holds.contains(where: carries) }
        }
        return granted.contains { $1.player != submission.player && carries($0) }
    }
}
