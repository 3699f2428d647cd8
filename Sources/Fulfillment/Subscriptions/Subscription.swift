import NamesAndTimes

/// A player's subscription as Apple last described it, and the time of the next check.
///
/// Apple's facts lead to the same subscription in whatever order they come, and however often. A fact about a later
/// period counts before one about an earlier period. Within a period, the fact that Apple gave later counts. Facts
/// about the renewal are compared by their own times.
public struct Subscription: Sendable, Equatable {
    public let originalTransactionID: StoreTransactionID
    public let bundleID: BundleID
    public let environment: StoreEnvironment
    public var player: PlayerID
    public private(set) var productID: ProductID
    public private(set) var subscriptionGroupID: String?
    /// The state. Only Apple's facts change the state, from any one to any other.
    public private(set) var state: SubscriptionState
    public private(set) var expiresAt: Timestamp?
    public private(set) var graceExpiresAt: Timestamp?
    public private(set) var willRenew: Bool?
    public private(set) var renewalProductID: ProductID?
    /// The number of the last published event; the first is 1. It leaps after a restore of the database.
    public private(set) var revision: Int32
    /// The times of Apple's facts, for each part of the subscription.
    public private(set) var told: Told
    public var check: Check

    public struct Told: Sendable, Equatable {
        public var periodBeganAt: Timestamp
        /// The time at which Apple gave the state; nil while receiptd knows only a transaction of the period.
        public var stateAt: Timestamp?
        public var willRenewAt: Timestamp?
        public var renewalProductAt: Timestamp?

        public init(
            periodBeganAt: Timestamp, stateAt: Timestamp?, willRenewAt: Timestamp? = nil,
            renewalProductAt: Timestamp? = nil
        ) {
            self.periodBeganAt = periodBeganAt
            self.stateAt = stateAt
            self.willRenewAt = willRenewAt
            self.renewalProductAt = renewalProductAt
        }
    }

    /// The next check: its time, and the missed periods to ask Apple about.
    public struct Check: Sendable, Equatable {
        /// The time of the next question; nil if receiptd does not ask before Apple reports a change.
        public var dueAt: Timestamp?
        /// The number of checks since the subscription last changed.
        public var tries: Int32
        /// The time from which workers must search Apple's history for missed periods; nil if none were missed, or if
        /// the history was read to its end.
        public var historySince: Timestamp?
        /// The beginning of the last period before one whose source did not grant it. Workers ask Apple for the periods
        /// since then; nil once they have asked, or if there is no such period.
        public var periodsSince: Timestamp?

        public init(
            dueAt: Timestamp? = nil, tries: Int32 = 0, historySince: Timestamp? = nil, periodsSince: Timestamp? = nil
        ) {
            self.dueAt = dueAt
            self.tries = tries
            self.historySince = historySince
            self.periodsSince = periodsSince
        }
    }

    /// Makes the subscription from its stored form.
    public init(stored fact: SubscriptionFact, player: PlayerID, revision: Int32, told: Told, check: Check) {
        originalTransactionID = fact.originalTransactionID
        bundleID = fact.bundleID
        environment = fact.environment
        self.player = player
        productID = fact.productID
        subscriptionGroupID = fact.subscriptionGroupID
        state = fact.state
        expiresAt = fact.expiresAt
        graceExpiresAt = fact.graceExpiresAt
        willRenew = fact.willRenew
        renewalProductID = fact.renewalProductID
        self.revision = revision
        self.told = told
        self.check = check
    }

    /// Makes the subscription from the first fact about it.
    /// - Parameters:
    ///   - revision: the first revision. It is above every one that a lost state of the database may have published.
    ///   - bringsPeriod: true if the source of the fact has granted the period, or will.
    public init(_ fact: SubscriptionFact, player: PlayerID, revision: Int32 = 1, bringsPeriod: Bool = true) {
        self.init(
            stored: fact, player: player, revision: revision,
            told: Told(
                periodBeganAt: fact.periodBeganAt ?? fact.toldAt, stateAt: fact.isOfPeriodOnly ? nil : fact.toldAt,
                willRenewAt: fact.willRenew == nil ? nil : fact.toldAt,
                renewalProductAt: fact.renewalProductID == nil ? nil : fact.toldAt),
            check: Check())
        if !bringsPeriod { check.periodsSince = told.periodBeganAt }
    }

    /// The effect of a fact on a subscription.
    public enum Hearing: Sendable, Equatable {
        /// The subscription has newer facts, or this same fact, already.
        case known
        /// The fact adds something new, but every published value stays the same.
        case confirmed
        /// A published value changed, and the revision grew by one.
        case changed
    }

    /// Takes in a fact about this subscription.
    /// - Parameters:
    ///   - search: the app's policy for missed periods.
    ///   - bringsPeriod: true if the source of the fact has granted the period, or will.
    public mutating func hear(
        _ fact: SubscriptionFact, _ search: MissedPeriodSearch = .never, bringsPeriod: Bool = true
    ) -> Hearing {
        let before = self
        subscriptionGroupID = subscriptionGroupID ?? fact.subscriptionGroupID
        hear(willRenew: fact.willRenew, renewalProductID: fact.renewalProductID, at: fact.toldAt)
        let offered = Offered(fact, beside: told)
        if Offered(self).isBefore(offered) {
            noteMissed(before: offered.periodBeganAt, toldAt: fact.toldAt, search)
            if !bringsPeriod { notePeriods(to: offered.periodBeganAt) }
            take(offered)
        }
        if self == before { return .known }
        if isPublished(as: before) { return .confirmed }
        revision += 1
        return .changed
    }

    /// Raises the revision, so that the state is published once more.
    /// - Parameter published: the highest revision that may be published.
    public mutating func tellAnew(above published: Int32) { revision = max(revision, published) + 1 }

    /// Takes in the facts from before the subscription had an owner, as part of its first revision. If they include a
    /// later period, workers ask Apple for that period, because their source may not have granted it.
    public mutating func hear(_ unowned: UnownedSubscription) {
        let other = unowned.subscription
        guard other.bundleID == bundleID, other.environment == environment else { return }
        subscriptionGroupID = subscriptionGroupID ?? other.subscriptionGroupID
        if let at = other.told.willRenewAt { hear(willRenew: other.willRenew, renewalProductID: nil, at: at) }
        if let at = other.told.renewalProductAt {
            hear(willRenew: nil, renewalProductID: other.renewalProductID, at: at)
        }
        let offered = Offered(other)
        guard Offered(self).isBefore(offered) else { return }
        notePeriods(to: offered.periodBeganAt)
        take(offered)
    }

    private mutating func take(_ offered: Offered) {
        productID = offered.productID
        state = offered.state
        expiresAt = offered.expiresAt
        graceExpiresAt = offered.graceExpiresAt
        told.periodBeganAt = offered.periodBeganAt
        told.stateAt = offered.toldAt
    }

    private mutating func hear(willRenew renews: Bool?, renewalProductID product: ProductID?, at time: Timestamp) {
        if let renews {
            let known = willRenew.map { $0 ? 1 : 0 }
            if Self.isNewer(renews ? 1 : 0, at: time, than: known, at: told.willRenewAt) {
                willRenew = renews
                told.willRenewAt = time
            }
        }
        if let product, Self.isNewer(product, at: time, than: renewalProductID, at: told.renewalProductAt) {
            renewalProductID = product
            told.renewalProductAt = time
        }
    }

    /// Returns whether a value is newer than the known one. If both have the same time, the greater value counts as
    /// newer, so that the order of arrival does not matter.
    private static func isNewer<Value: Comparable>(
        _ value: Value, at time: Timestamp, than known: Value?, at knownTime: Timestamp?
    ) -> Bool {
        guard let known, let knownTime else { return true }
        return knownTime != time ? knownTime < time : known < value
    }

    private func isPublished(as other: Subscription) -> Bool {
        state == other.state && productID == other.productID && expiresAt == other.expiresAt
            && graceExpiresAt == other.graceExpiresAt && willRenew == other.willRenew
            && renewalProductID == other.renewalProductID
    }

    /// A state that a fact or a subscription gives, with the values that decide which of two states counts.
    private struct Offered {
        let periodBeganAt: Timestamp
        let toldAt: Timestamp?
        let state: SubscriptionState
        let expiresAt, graceExpiresAt: Timestamp?
        let productID: ProductID

        init(_ known: Subscription) {
            periodBeganAt = known.told.periodBeganAt
            toldAt = known.told.stateAt
            state = known.state
            (expiresAt, graceExpiresAt, productID) = (known.expiresAt, known.graceExpiresAt, known.productID)
        }

        init(_ fact: SubscriptionFact, beside told: Told) {
            periodBeganAt = fact.periodBeganAt ?? told.periodBeganAt
            toldAt = fact.isOfPeriodOnly ? nil : fact.toldAt
            state = fact.state
            (expiresAt, graceExpiresAt, productID) = (fact.expiresAt, fact.graceExpiresAt, fact.productID)
        }

        func isBefore(_ other: Offered) -> Bool {
            if periodBeganAt != other.periodBeganAt { return periodBeganAt < other.periodBeganAt }
            if toldAt != other.toldAt { return Self.isBefore(toldAt, other.toldAt) }
            if state != other.state { return state.place < other.state.place }
            if expiresAt != other.expiresAt { return Self.isBefore(expiresAt, other.expiresAt) }
            if graceExpiresAt != other.graceExpiresAt { return Self.isBefore(graceExpiresAt, other.graceExpiresAt) }
            return productID < other.productID
        }

        private static func isBefore(_ one: Timestamp?, _ other: Timestamp?) -> Bool {
            guard let other else { return false }
            return one.map { $0 < other } ?? true
        }
    }
}

extension SubscriptionFact {
    /// Makes a fact of the known state, as if Apple had given the same state again.
    public init(again known: Subscription) {
        self.init(known, toldAt: known.told.stateAt ?? known.told.periodBeganAt)
        isOfPeriodOnly = known.told.stateAt == nil
    }

    /// Makes a fact of the known state, given at `toldAt`.
    public init(_ known: Subscription, toldAt: Timestamp) {
        self.init(
            originalTransactionID: known.originalTransactionID, bundleID: known.bundleID,
            environment: known.environment, productID: known.productID, state: known.state, toldAt: toldAt)
        subscriptionGroupID = known.subscriptionGroupID
        expiresAt = known.expiresAt
        graceExpiresAt = known.graceExpiresAt
        periodBeganAt = known.told.periodBeganAt
    }
}

extension SubscriptionState {
    /// The state's place in `allCases`. Of two states that Apple gave at one time, the one with the higher place
    /// counts.
    fileprivate var place: Int { Self.allCases.firstIndex(of: self) ?? 0 }

    /// True if Apple will not renew the subscription by itself.
    public var isOver: Bool { self == .expired || self == .revoked }
}
