extension ParsedProof {
    /// Returns the evidence that the ledger remembers behind this proof, so that Apple is not asked again. Returns nil
    /// if Apple's next answer may be another, or if the proof itself says as much. A refused proof is never remembered,
    /// because Apple may say otherwise tomorrow.
    /// - Parameter receipt: the evidence of the verdict.
    public func rememberedEvidence(
        _ receipt: GenuineReceipt, after verdict: Verdict, of app: AppPolicy
    ) -> GenuineReceipt? {
        // New periods appear behind the same bytes of a receipt that holds an auto-renewable subscription.
        guard !receipt.holdsAutoRenewable, !receipt.purchases.isEmpty, receipt.isReadable else { return nil }
        // The App Store Server API tells refunds: until its transaction is in the ledger, it is asked anew.
        if case .transaction = question(for: app), !verdict.grantsAll { return nil }
        return recalls(receipt) ? nil : receipt
    }
}

extension LedgerView {
    /// Returns whether every purchase is granted or held. If so, the remembered evidence replaces Apple's answer.
    /// - Parameter claimant: the player who must have them; nil for any player.
    public func holdsAll(_ purchases: [StorePurchase], of claimant: PlayerID? = nil) -> Bool {
        purchases.allSatisfy { purchase in
            let holders = holds[purchase.transactionID]?.keys
            guard let claimant else { return grants[purchase.transactionID] != nil || holders != nil }
            return grants[purchase.transactionID].map { $0.player == claimant } ?? holders?.contains(claimant) ?? false
        }
    }
}
