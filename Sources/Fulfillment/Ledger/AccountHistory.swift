/// Purchases of an Apple account's history that count as if they were in the receipt that named the account.
extension PendingDecision {
    /// Whether the receipt holds a purchase that was granted to another player, or is held for one: then the account that it
    /// names is not this player's to claim from. False where nothing comes from the account's history.
    func isReceiptOfAnother(_ judged: [JudgedPurchase], in view: LedgerView) -> Bool {
        guard judged.contains(where: \.isFromHistory) else { return false }
        return judged.contains { one in
            !one.isFromHistory && view.hasOther(than: submission.playerID, one.purchase.transactionID)
        }
    }

    /// The receipt's own, and what this submission won of the others before.
    func purchasesOfReceipt(_ judged: [JudgedPurchase], in view: LedgerView) -> [StorePurchase] {
        judged.filter { one in
            !one.isFromHistory || view.grants[one.purchase.transactionID]?.submission == identity
        }.map(\.purchase)
    }
}

extension LedgerView {
    /// A dispute counts too, although it claims nothing.
    fileprivate func hasOther(than player: PlayerID, _ transaction: StoreTransactionID) -> Bool {
        [grants[transaction]?.player, holds[transaction]?.player].contains { $0 != nil && $0 != player }
    }
}
