import NamesAndTimes

/// Apple's facts about a subscription without a grant. The owner's row will begin with them.
public struct UnownedSubscription: Sendable, Equatable {
    private static let nobody: PlayerID = ""

    /// A subscription that follows the rules of an owned one. Its player, revision and check mean nothing.
    public private(set) var subscription: Subscription

    /// Makes it from its stored form.
    public init(stored subscription: Subscription) { self.subscription = subscription }

    /// Returns nil if the fact says no more than the grant of its period will.
    public init?(_ fact: SubscriptionFact) {
        guard !fact.isOfPeriodOnly || fact.willRenew != nil || fact.renewalProductID != nil else { return nil }
        subscription = Subscription(fact, player: Self.nobody)
    }

    /// - Returns: whether the fact says more than was known.
    public mutating func hear(_ fact: SubscriptionFact) -> Bool {
        guard fact.bundleID == subscription.bundleID, fact.environment == subscription.environment else { return false }
        return subscription.hear(fact) != .known
    }
}
