import NamesAndTimes

extension PendingDecision {
    /// Returns `reason` with its cause, for the submission's answer.
    /// - Parameter outcomes: the outcomes that the answer lists. The last outcome with the reason gives the cause.
    func refusal(for reason: Reason, of outcomes: [TransactionOutcome]) -> Refusal {
        Refusal(reason, cause(of: reason, outcomes))
    }

    /// Returns the cause; nil if no more exact cause is known than the reason's own.
    private func cause(of reason: Reason, _ outcomes: [TransactionOutcome]) -> Cause? {
        if case .whole(reason, _) = verdict, let cause { return cause }
        let unreadable = outcomes.last { $0.reason == reason }?.unreadable ?? []
        switch reason {
        case .malformedReceipt where !unreadable.isEmpty: return .namelessPurchase(unreadable)
        case .unreadableTransaction where !unreadable.isEmpty: return .unreadableFact(unreadable)
        // receiptd could read the receipt, so Apple's answer gave this reason.
        case .malformedReceipt: return .malformedAtApple
        case .unauthenticReceipt: return .unauthenticAtApple
        case .foreignApp: return .otherBundle
        case .bindingMismatch: return causeOfMismatch(outcomes)
        default: return nil
        }
    }

    private func causeOfMismatch(_ outcomes: [TransactionOutcome]) -> Cause? {
        guard case .each(let judged) = verdict,
            let refused = outcomes.last(where: { $0.reason == .bindingMismatch })?.transactionID,
            let one = judged.last(where: { $0.purchase.transactionID == refused })
        else { return nil }
        let tokens = (submitted: submission.appAccountToken, told: one.purchase.appAccountToken)
        // `Judge` accepted the token, so `player-accounts` names another player for the token.
        if one.verdict != .reject(.bindingMismatch) { return .tokenOfOtherPlayer }
        let known = [tokens.submitted, tokens.told].compactMap(\.self)
        if tokenUse == .none, known.contains(where: { PlayerID($0) != submission.playerID }) {
            return .tokenOfOtherPlayer
        }
        switch tokens {
        case (nil, _): return .tokenMissing
        case (_, nil): return .tokenNotOnPurchase
        default: return .tokenDiffers
        }
    }
}
