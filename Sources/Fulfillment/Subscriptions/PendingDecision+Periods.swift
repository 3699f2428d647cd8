extension PendingDecision {
    /// Returns whether the period of a fact in its evidence needs no question to Apple: it is granted, waits for an
    /// operator, or is no goods. If it is refused to the submission's player, its owner may have paid it.
    /// - Parameter outcomes: the outcomes of the decision's purchases.
    public func bringsPeriod(of fact: SubscriptionFact, by outcomes: [TransactionOutcome]) -> Bool {
        // The period was entered with Apple's announcement.
        if announced != nil { return true }
        let transactions = Set(verdict.purchases.lazy.filter { fact.isOfPeriod(of: $0) }.map(\.transactionID))
        return outcomes.contains { outcome in
            guard transactions.contains(outcome.transactionID) else { return false }
            switch outcome.outcome {
            case .granted, .alreadyGranted: return true
            // A dispute holds nothing for the owner.
            case .held: return outcome.reason != .ownershipDisputed
            case .rejected: return outcome.reason == .subscriptionExpired || outcome.reason == .cancelled
            }
        }
    }
}
