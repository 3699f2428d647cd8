extension PendingDecision {
    /// Returns whether the decision deals with the period of a fact, so that the worker need not ask Apple about the
    /// period. Returns true if the period is granted, held, over or refunded. Returns false if the rules refuse the
    /// period to this player for another reason, because the period's owner may have paid for it.
    /// - Parameter outcomes: the outcomes of the decision's purchases.
    public func bringsPeriod(of fact: SubscriptionFact, by outcomes: [TransactionOutcome]) -> Bool {
        // An announced purchase's decision is about the announced period itself.
        if announced != nil { return true }
        let transactions = Set(verdict.purchases.lazy.filter { fact.isOfPeriod(of: $0) }.map(\.transactionID))
        return outcomes.contains { outcome in
            guard transactions.contains(outcome.transactionID) else { return false }
            switch outcome.outcome {
            case .granted, .alreadyGranted: return true
            // A dispute holds the period for the submission's player. The owner still has no grant and no hold of the
            // period.
            case .held: return outcome.reason != .ownershipDisputed
            case .rejected: return outcome.reason == .subscriptionExpired || outcome.reason == .cancelled
            }
        }
    }
}
