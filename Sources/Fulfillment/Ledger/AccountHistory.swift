/// Purchases of an Apple account that Apple lists beside the receipt that named the account.
extension PendingDecision {
    /// Returns whether Apple lists purchases beside the receipt and the receipt has a purchase that is granted to
    /// another player or held for one. This player may then claim nothing of the account that the receipt names.
    func isReceiptOfAnother(_ judged: [JudgedPurchase], in view: LedgerView) -> Bool {
        guard judged.contains(where: { $0.origin != .receipt }) else { return false }
        return judged.contains { $0.origin == .receipt && view.hasOther(than: submission.playerID, $0) }
    }

    /// Returns the receipt's own purchases, and the others that this submission won before.
    func purchasesOfReceipt(_ judged: [JudgedPurchase], in view: LedgerView) -> [StorePurchase] {
        judged.filter { one in
            one.origin != .history || view.grants[one.purchase.transactionID]?.submission == identity
        }.map(\.purchase)
    }

    /// Returns whether a purchase of another player's Apple account, which nobody has yet, is left to its owner. The
    /// owner submits a receipt that holds the purchase, or the purchase's token.
    func leavesToOwner(_ judged: JudgedPurchase, in view: LedgerView) -> Bool {
        judged.origin == .latest && !isBound(judged.purchase)
            && view.claims[judged.purchase.originalTransactionID]?.player != submission.playerID
    }
}

extension LedgerView {
    /// Returns whether another player has the purchase. A dispute counts too, although it claims nothing.
    fileprivate func hasOther(than player: PlayerID, _ judged: JudgedPurchase) -> Bool {
        let (purchase, id) = (judged.purchase, judged.purchase.transactionID)
        let claim = judged.isOwnedByOriginal ? claims[purchase.originalTransactionID]?.player : nil
        return holds[id]?.keys.contains { $0 != player } ?? false
            || [grants[id]?.player, claim].contains { $0 != nil && $0 != player }
    }
}
