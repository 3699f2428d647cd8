/// Purchases of an Apple account that Apple lists beside the receipt that named the account.
extension PendingDecision {
    /// Whether Apple lists purchases beside the receipt, and the receipt holds one that was granted to another player, or is held for
    /// one: then the account that it names is not this player's to claim from.
    func isReceiptOfAnother(_ judged: [JudgedPurchase], in view: LedgerView) -> Bool {
        guard judged.contains(where: { $0.origin != .receipt }) else { return false }
        return judged.contains { $0.origin == .receipt && view.hasOther(than: submission.playerID, $0) }
    }

    /// The receipt's own, and what this submission won of the others before.
    func purchasesOfReceipt(_ judged: [JudgedPurchase], in view: LedgerView) -> [StorePurchase] {
        judged.filter { one in
            one.origin != .history || view.grants[one.purchase.transactionID]?.submission == identity
        }.map(\.purchase)
    }

    /// Whether a purchase of another player's Apple account, which is nobody's yet, is left to the player who submits a receipt that holds
    /// the purchase, or its token.
    func leavesToOwner(_ judged: JudgedPurchase, in view: LedgerView) -> Bool {
        judged.origin == .latest && !isBound(judged.purchase)
            && view.claims[judged.purchase.originalTransactionID]?.player != submission.playerID
    }
}

extension LedgerView {
    /// A dispute counts too, although it claims nothing.
    fileprivate func hasOther(than player: PlayerID, _ judged: JudgedPurchase) -> Bool {
        let (purchase, id) = (judged.purchase, judged.purchase.transactionID)
        let claim = judged.isOwnedByOriginal ? claims[purchase.originalTransactionID]?.player : nil
        return holds[id]?.keys.contains { $0 != player } ?? false
            || [grants[id]?.player, claim].contains { $0 != nil && $0 != player }
    }
}
