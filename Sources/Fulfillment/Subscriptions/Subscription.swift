import NamesAndTimes

/// A player's subscription as Apple last described it, and the time of the next check.
///
/// Apple's facts may arrive in any order, and more than once: the resulting subscription is the same. A fact about a
/// later period takes precedence over a fact about an earlier period. Within a period, Apple's later fact takes
/// precedence. For `willRenew` and `renewalProductID`, Apple's later fact takes precedence, whichever period it is
/// about.
public struct Subscription: Sendable, Equatable {
    public let originalTransactionID: StoreTransactionID
    public let bundleID: BundleID
    public let environment: StoreEnvironment
    public var player: PlayerID
    public private(set) var productID: ProductID
    public private(set) var subscriptionGroupID: String?
    /// The state. Only Apple's facts change it. Any state may follow any other state.
    public private(set) var state: SubscriptionState
    public private(set) var expiresAt: Timestamp?
    public private(set) var graceExpiresAt: Timestamp?
    public private(set) var willRenew: Bool?
    public private(set) var renewalProductID: ProductID?
    /// The number of the last published event; the first is 1. After a restore of the database the next number is much
    /// higher.
    public private(set) var revision: Int32
    /// The beginning of the known period, and the times of the Apple facts that gave the other values.
    public private(set) var told: Told
    public var check: Check

    public struct Told: Sendable, Equatable {
        public var periodBeganAt: Timestamp
        /// The time at which Apple gave the state; nil while the state comes only from a transaction of the period.
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

    /// The time of the next check, and the times from which workers must search for missed periods.
    public struct Check: Sendable, Equatable {
        /// The time of the next check; nil if workers check again only after Apple reports a change.
        public var dueAt: Timestamp?
        /// The number of checks since the subscription last changed.
        public var tries: Int32
        /// The time from which workers must search the account's history for missed periods; nil if no period is
        /// missing, or if a worker has read the history to its end.
        public var historySince: Timestamp?
        /// Workers must ask Apple for the periods since this time, because one source (a notification or an answer of
        /// Apple's) reported a period without a grant. This time is the beginning of the period that was known before,
        /// or of the reported period if none was known. nil if workers need not ask.
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
    ///   - revision: the first revision. If the database lost rows, this revision must be above every revision that
    ///     workers may have published before.
    ///   - bringsPeriod: true if the caller also deals with the period, for example by a grant; false if a worker must
    ///     ask Apple for the period.
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
        /// The subscription already has this fact or newer facts.
        case known
        /// The fact is new, but changes no published value.
        case confirmed
        /// A published value changed, and the revision grew by one.
        case changed
    }

    /// Adds a fact about this subscription.
    /// - Parameters:
    ///   - kept: stored earlier facts, which are not yet part of this subscription; nil if there are none.
    ///   - search: the app's policy for missed periods.
    ///   - bringsPeriod: true if the caller also deals with the period, for example by a grant; false if a worker must
    ///     ask Apple for the period.
    public mutating func hear(
        _ fact: SubscriptionFact, after kept: UnownedSubscription? = nil, _ search: MissedPeriodSearch = .never,
        bringsPeriod: Bool = true
    ) -> Hearing {
        let before = self
        if let kept { hear(kept, search) }
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

    /// Raises the revision, so that a worker publishes the state once more.
    /// - Parameter published: the highest revision that a worker may have published.
    public mutating func tellAnew(above published: Int32) { revision = max(revision, published) + 1 }

    /// Adds the facts from before the subscription had an owner, or from a time in which the app did not follow
    /// renewals. The revision stays. If the facts include a later period, workers ask Apple for that period, because
    /// the ledger may have no grant of the period.
    /// - Parameter search: the app's policy for missed periods.
    public mutating func hear(_ unowned: UnownedSubscription, _ search: MissedPeriodSearch = .never) {
        let other = unowned.subscription
        guard other.bundleID == bundleID, other.environment == environment else { return }
        subscriptionGroupID = subscriptionGroupID ?? other.subscriptionGroupID
        if let at = other.told.willRenewAt { hear(willRenew: other.willRenew, renewalProductID: nil, at: at) }
        if let at = other.told.renewalProductAt {
            hear(willRenew: nil, renewalProductID: other.renewalProductID, at: at)
        }
        let offered = Offered(other)
        guard Offered(self).isBefore(offered) else { return }
        noteMissed(before: offered.periodBeganAt, toldAt: offered.toldAt ?? offered.periodBeganAt, search)
        notePeriods(to: offered.periodBeganAt)
        take(offered)
    }

    /// Returns the subscription with the facts of `unowned`; the subscription itself if `unowned` is nil.
    public func hearing(_ unowned: UnownedSubscription?) -> Subscription {
        var other = self
        if let unowned { other.hear(unowned) }
        return other
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

    /// Returns whether a value is newer than the known value. If their times are equal, the greater value counts as
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

    /// The state of a fact or a subscription, with the values that decide which of two states counts.
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
    /// Makes a fact from the known state, as if Apple had given the state again.
    public init(again known: Subscription) {
        self.init(known, toldAt: known.told.stateAt ?? known.told.periodBeganAt)
        isOfPeriodOnly = known.told.stateAt == nil
    }

    /// Makes a fact from the known state, as if Apple had given the state at `toldAt`.
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
    /// The state's place in `allCases`. If Apple gave two states at one time, the state with the higher place counts.
    fileprivate var place: Int { Self.allCases.firstIndex(of: self) ?? 0 }

    /// True if the subscription is expired or revoked, so that Apple will not renew it.
    public var isOver: Bool { self == .expired || self == .revoked }
}
