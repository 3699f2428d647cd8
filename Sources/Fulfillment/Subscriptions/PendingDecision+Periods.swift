extension PendingDecision {
    /// Returns whether the worker need not ask Apple about the period of a fact in the evidence: the period is granted,
    /// held, over or refunded. If the period is refused to this player for another reason, its owner may have paid for
    /// it.
    /// - Parameter outcomes: the outcomes of the decision's purchases.
    public func bringsPeriod(of fact: SubscriptionFact, by outcomes: [TransactionOutcome]) -> Bool {
        // The decision itself is about Apple's announcement of the period.
        if announced != nil { return true }
        let transactions = Set(verdict.purchases.lazy.filter { fact.isOfPeriod(of: $0) }.map(\.transactionID))
        return outcomes.contains { outcome in
            guard transactions.contains(outcome.transactionID) else { return false }
            switch outcome.outcome {
            case .granted, .alreadyGranted: return true
            // A hold for a dispute is for the submission's player, not for the owner.
            case .held: return outcome.reason != .ownershipDisputed
            case .rejected: return outcome.reason == .subscriptionExpired || outcome.reason == .cancelled
            }
        }
    }
}
