/// Rules for purchases that belong to a receipt's Apple account, but are not in the receipt. Apple lists these
/// purchases in `latest_receipt_info` or in the account's history.
extension PendingDecision {
    /// Returns whether both are true: another player has a purchase of the receipt, and Apple lists purchases that the
    /// receipt lacks. If so, the settlement rejects the submission when a purchase comes from the account's history.
    /// Otherwise the settlement rejects each purchase that `leavesToOwner`.
    func isReceiptOfAnother(_ judged: [JudgedPurchase], in view: LedgerView) -> Bool {
        guard judged.contains(where: { $0.origin != .receipt }) else { return false }
        return judged.contains { $0.origin == .receipt && view.hasOther(than: submission.playerID, $0) }
    }

    /// Returns the purchases that are not from the account's history. Also returns the purchases of the history that an
    /// earlier decision on this submission granted.
    func purchasesOfReceipt(_ judged: [JudgedPurchase], in view: LedgerView) -> [StorePurchase] {
        judged.filter { one in
            one.origin != .history || view.grants[one.purchase.transactionID]?.submission == identity
        }.map(\.purchase)
    }

    /// Returns whether the worker leaves the purchase to its owner, who will submit the token or a newer receipt. The
    /// worker does so if all are true: only `latest_receipt_info` lists the purchase, the submission lacks the
    /// purchase's account token, and this player does not own the original transaction.
    func leavesToOwner(_ judged: JudgedPurchase, in view: LedgerView) -> Bool {
        judged.origin == .latest && !isBound(judged.purchase)
            && view.claims[judged.purchase.originalTransactionID]?.player != submission.playerID
    }
}

extension LedgerView {
    /// Returns whether another player has a grant or a hold of the purchase, or owns its original transaction. A hold
    /// for a dispute counts too, although such a hold claims nothing.
    fileprivate func hasOther(than player: PlayerID, _ judged: JudgedPurchase) -> Bool {
        let (purchase, id) = (judged.purchase, judged.purchase.transactionID)
        let claim = judged.isOwnedByOriginal ? claims[purchase.originalTransactionID]?.player : nil
        return holds[id]?.keys.contains { $0 != player } ?? false
            || [grants[id]?.player, claim].contains { $0 != nil && $0 != player }
    }
}
