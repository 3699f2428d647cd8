extension ParsedProof {
    /// Returns the evidence that the ledger remembers for this proof, so that no worker asks Apple about it again.
    /// Returns nil if Apple's next answer may differ, or if the proof itself has the same evidence. The ledger never
    /// remembers a refused proof, because Apple may change its answer.
    /// - Parameter receipt: the evidence of the verdict.
    public func rememberedEvidence(
        _ receipt: GenuineReceipt, after verdict: Verdict, of app: AppPolicy
    ) -> GenuineReceipt? {
        // A receipt with an auto-renewable subscription stays the same while Apple's answer about it gains periods.
        guard !receipt.holdsAutoRenewable, !receipt.purchases.isEmpty, receipt.isReadable else { return nil }
        // The App Store Server API shows refunds. Until the ledger has the transaction, each submission asks that API
        // anew.
        if case .transaction = question(for: app), !verdict.grantsAll { return nil }
        return recalls(receipt) ? nil : receipt
    }
}

extension LedgerView {
    /// Returns whether every purchase is granted or held. If so, the remembered evidence replaces Apple's answer.
    /// - Parameter claimant: the player who must have the purchases; nil for any player.
    public func holdsAll(_ purchases: [StorePurchase], of claimant: PlayerID? = nil) -> Bool {
        purchases.allSatisfy { purchase in
            let holders = holds[purchase.transactionID]?.keys
            guard let claimant else { return grants[purchase.transactionID] != nil || holders != nil }
            return grants[purchase.transactionID].map { $0.player == claimant } ?? holders?.contains(claimant) ?? false
        }
    }
}
