/// Where another player may have the purchase, granted or held: the reasons `ownership_disputed` and `owned_by_other_player`.
extension Model {
    func verdictsBesideAnother(_ submission: Submission, _ purchase: Purchase) -> Set<String> {
        // A receipt does not show the token of each purchase.
        let isTold = submission.form != .receipt && submission.oddity == nil
        guard let given = submission.token, given == purchase.token || !isTold else {
            return ["rejected owned_by_other_player"]
        }
        return isTold && othersLackTheToken(purchase, besides: submission.player)
            ? ["held ownership_disputed"] : ["rejected owned_by_other_player", "held ownership_disputed"]
    }

    /// Whether whoever else can have it, without a doubt and by this transaction, submitted it without its token.
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
}
