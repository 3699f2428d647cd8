extension PendingDecision {
    /// A reason of the answer with what is behind it.
    /// - Parameter outcomes: those that the answer lists; the last one of the reason is what it tells of.
    func refusal(for reason: Reason, of outcomes: [TransactionOutcome]) -> Refusal {
        Refusal(reason, cause(of: reason, outcomes))
    }

    /// Nil where the reason has only one.
    private func cause(of reason: Reason, _ outcomes: [TransactionOutcome]) -> Cause? {
        let unreadable = outcomes.last { $0.reason == reason }?.unreadable ?? []
        switch reason {
        case .malformedReceipt where !unreadable.isEmpty: return .namelessPurchase(unreadable)
        case .unreadableTransaction where !unreadable.isEmpty: return .unreadableFact(unreadable)
        // Whoever comes here was read, and Apple was asked.
        case .malformedReceipt: return .malformedAtApple
        case .unauthenticReceipt: return .unauthenticAtApple
        case .foreignApp: return .otherBundle
        case .bindingMismatch: return causeOfMismatch(outcomes)
        default: return nil
        }
    }

    private func causeOfMismatch(_ outcomes: [TransactionOutcome]) -> Cause? {
        guard let refused = outcomes.last(where: { $0.reason == .bindingMismatch })?.transactionID,
            let purchase = verdict.purchases.last(where: { $0.transactionID == refused })
        else { return nil }
        guard let submitted = submission.appAccountToken else { return .tokenMissing }
        guard let told = purchase.appAccountToken else { return .tokenNotOnPurchase }
        return submitted == told ? .tokenOfOtherPlayer : .tokenDiffers
    }
}
