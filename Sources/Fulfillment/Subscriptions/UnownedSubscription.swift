import NamesAndTimes

/// Apple's facts about a subscription that no player owns yet. The future owner's row begins with these facts.
public struct UnownedSubscription: Sendable, Equatable {
    private static let nobody: PlayerID = ""

    /// The facts in the form of a subscription, whose player, revision and check are meaningless.
    public private(set) var subscription: Subscription

    public init(stored subscription: Subscription) { self.subscription = subscription }

    /// Returns nil if the fact describes only one period and says nothing about the renewal, because a later grant of
    /// the period gives the same fact.
    public init?(_ fact: SubscriptionFact) {
        guard !fact.isOfPeriodOnly || fact.willRenew != nil || fact.renewalProductID != nil else { return nil }
        subscription = Subscription(fact, player: Self.nobody)
    }

    /// Adds a fact.
    /// - Returns: whether the fact adds anything to the earlier facts.
    public mutating func hear(_ fact: SubscriptionFact) -> Bool {
        guard fact.bundleID == subscription.bundleID, fact.environment == subscription.environment else { return false }
        return subscription.hear(fact) != .known
    }
}
