/// Rules for the other purchases of the Apple account behind a receipt. Apple lists them in `latest_receipt_info` or in
/// the account's history.
extension PendingDecision {
    /// Returns whether another player has a purchase of the receipt and Apple lists purchases beside the receipt.
    /// Without their tokens, this player may then claim none of the purchases beside it.
    func isReceiptOfAnother(_ judged: [JudgedPurchase], in view: LedgerView) -> Bool {
        guard judged.contains(where: { $0.origin != .receipt }) else { return false }
        return judged.contains { $0.origin == .receipt && view.hasOther(than: submission.playerID, $0) }
    }

    /// Returns the purchases without those of the account's history. A purchase of the history stays if an earlier
    /// decision on this submission granted it.
    func purchasesOfReceipt(_ judged: [JudgedPurchase], in view: LedgerView) -> [StorePurchase] {
        judged.filter { one in
            one.origin != .history || view.grants[one.purchase.transactionID]?.submission == identity
        }.map(\.purchase)
    }

    /// Returns whether a purchase that only `latest_receipt_info` lists is left to its owner: the submission lacks its
    /// token, and the player does not own its original transaction. The owner submits the token, or a receipt that
    /// holds the purchase.
    func leavesToOwner(_ judged: JudgedPurchase, in view: LedgerView) -> Bool {
        judged.origin == .latest && !isBound(judged.purchase)
            && view.claims[judged.purchase.originalTransactionID]?.player != submission.playerID
    }
}

extension LedgerView {
    /// Returns whether another player was granted the purchase, waits for it, or owns its original transaction. A
    /// disputed hold counts too, although it claims nothing.
    fileprivate func hasOther(than player: PlayerID, _ judged: JudgedPurchase) -> Bool {
        let (purchase, id) = (judged.purchase, judged.purchase.transactionID)
        let claim = judged.isOwnedByOriginal ? claims[purchase.originalTransactionID]?.player : nil
        return holds[id]?.keys.contains { $0 != player } ?? false
            || [grants[id]?.player, claim].contains { $0 != nil && $0 != player }
    }
}
