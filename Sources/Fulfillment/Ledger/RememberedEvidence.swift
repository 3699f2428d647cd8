extension ParsedProof {
    /// Returns the evidence that the ledger remembers for this proof, so that no worker asks Apple about the proof
    /// again. Returns nil if Apple's next answer may differ, or if the proof itself has all of the evidence. The ledger
    /// never remembers a proof that Apple refused, because Apple may change its answer.
    /// - Parameter receipt: the evidence of the verdict.
    public func rememberedEvidence(
        _ receipt: GenuineReceipt, after verdict: Verdict, of app: AppPolicy
    ) -> GenuineReceipt? {
        // A receipt with an auto-renewable subscription stays the same while Apple's answer about it gains periods.
        guard !receipt.holdsAutoRenewable, !receipt.purchases.isEmpty, receipt.isReadable else { return nil }
        // The App Store Server API shows refunds. So the worker asks that API about each submission of the transaction,
        // until the ledger has the transaction.
        if case .transaction = question(for: app), !verdict.grantsAll { return nil }
        // A later answer may list a signed purchase that this answer lacks.
        if signature == .proven, let content {
            let told = Set(receipt.purchases.lazy.map(\.transactionID))
            guard content.purchases.allSatisfy({ told.contains($0.transactionID) }) else { return nil }
        }
        return recalls(receipt) ? nil : receipt
    }
}

extension LedgerView {
    /// Returns whether the ledger has a grant or a hold of every purchase. If so, the remembered evidence replaces
    /// Apple's answer. A disputed hold does not count: another player may still get the purchase, and before a worker
    /// grants it to that player, the worker must ask Apple about refunds again.
    /// - Parameter claimant: the player whose grants and holds count; nil if the grants and holds of all players count.
    public func holdsAll(_ purchases: [StorePurchase], of claimant: PlayerID? = nil) -> Bool {
        purchases.allSatisfy { purchase in
            let holder = claimingHold(of: purchase.transactionID)?.player
            guard let claimant else { return grants[purchase.transactionID] != nil || holder != nil }
            return (grants[purchase.transactionID]?.player ?? holder) == claimant
        }
    }
}
