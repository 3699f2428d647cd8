import Encodings
import Fulfillment
import NamesAndTimes
import Synchronization

struct SubscriptionRow {
    var subscription: Subscription
    var receipt: [UInt8]?
    var lease: Int64?
    /// The revision of the last published event, if the database lost this revision; nil otherwise, and after a later
    /// event.
    var lostRevision: Int32?
}

extension InMemoryLedger: FollowedSubscriptions {
    public func leaseDue(room: [(app: BundleID, most: Int)], limit: Int) async throws -> [LeasedSubscription] {
        let now = clock()
        return state.update { state in
            var leased: [LeasedSubscription] = []
            for (app, most) in room where most > 0 {
                let due = state.subscriptions.values.filter { row in
                    row.subscription.bundleID == app && row.lease == nil
                        && row.subscription.check.dueAt.map { $0 <= now } ?? false
                }
                let first = due.sorted { $0.due < $1.due }.prefix(min(most, limit - leased.count))
                for row in first { leased.append(state.lease(row)) }
            }
            return leased
        }
    }

    public func settle(_ check: SubscriptionCheck, catalog: Catalog) async throws -> [OutcomeEvent] {
        let events = state.update { $0.settle(check, catalog) }
        announce(check.findings.periods)
        return events
    }

    public func reschedule(_ leased: LeasedSubscription, dueAfterSeconds: Double) async throws {
        let due = clock().adding(milliseconds: Int64(dueAfterSeconds * 1000))
        state.update { state in
            state.change(leased) { $0.subscription.check.dueAt = due }
        }
    }

    public func endLease(of leased: LeasedSubscription) async throws {
        state.update { state in state.change(leased) { _ in } }
    }

    public func known(_ originals: [StoreTransactionID]) async throws -> [Subscription] {
        if isUnreadable.withLock({ $0 }) { throw OutOfReach() }
        return state.read { state in
            Set(originals).sorted().compactMap { state.subscriptions[$0]?.subscription }
        }
    }

    public func told(of original: StoreTransactionID) async throws -> Subscription? {
        if isUnreadable.withLock({ $0 }) { throw OutOfReach() }
        return state.read { state in
            let kept = state.announced.unownedSubscriptions[original]
            return state.subscriptions[original]?.subscription.hearing(kept) ?? kept?.subscription
        }
    }

    /// Stores a fact about a subscription without an owner, as a notification does.
    public func keep(_ fact: SubscriptionFact) {
        state.update { $0.announced.unownedSubscriptions[fact.originalTransactionID] = UnownedSubscription(fact) }
    }

    /// Adds a subscription, as a notification does.
    public func follow(_ subscription: Subscription) {
        state.update {
            $0.subscriptions[subscription.originalTransactionID] = SubscriptionRow(subscription: subscription)
        }
    }

    /// Makes reads of subscriptions fail, or succeed again.
    public func setUnreadable(_ isUnreadable: Bool) { self.isUnreadable.withLock { $0 = isUnreadable } }

    private struct OutOfReach: Error {}
}

extension SubscriptionRow {
    var app: StoreApp { StoreApp(subscription.bundleID, in: subscription.environment) }
    fileprivate var due: Timestamp { subscription.check.dueAt ?? Timestamp(milliseconds: .max) }
}

extension InMemoryLedger.State {
    fileprivate mutating func lease(_ row: SubscriptionRow) -> LeasedSubscription {
        let lease = nextLease()
        subscriptions[row.subscription.originalTransactionID]?.lease = lease
        return LeasedSubscription(row.subscription, receipt: row.receipt.map(Base64.encode), lease: lease)
    }

    /// Changes the row and ends the lease, if the worker still has the lease.
    fileprivate mutating func change(_ leased: LeasedSubscription, _ body: (inout SubscriptionRow) -> Void) {
        guard var row = subscriptions[leased.originalTransactionID], row.lease == leased.lease else { return }
        body(&row)
        row.lease = nil
        subscriptions[leased.originalTransactionID] = row
    }

    fileprivate mutating func settle(_ check: SubscriptionCheck, _ catalog: Catalog) -> [OutcomeEvent] {
        var events: [OutcomeEvent] = []
        let again = check.tellsOfIt ? [] : [SubscriptionFact(again: check.leased.subscription)]
        for fact in check.findings.facts + again {
            guard catalog.apps[fact.bundleID]?.followsRenewals == true else {
                keepUnowned(fact, at: check.at)
                continue
            }
            events += hear(
                fact, of: check, bringsPeriod: true, catalog.apps[fact.bundleID]?.missedPeriodSearch ?? .never,
                at: check.at,
                from: InMemoryLedger.Partition(topic: "", number: 0))
            if let receipt = check.findings.receipt { subscriptions[fact.originalTransactionID]?.receipt = receipt }
        }
        if view.claims[check.leased.originalTransactionID]?.player == nil {
            change(check.leased) { $0.subscription.check.dueAt = nil }
        }
        return events
    }

    mutating func hear(_ decision: PendingDecision, _ outcomes: [TransactionOutcome]) -> [OutcomeEvent] {
        let partition = InMemoryLedger.Partition(
            topic: decision.position.topic, number: decision.position.partition)
        var events: [OutcomeEvent] = []
        for fact in decision.subscriptions.facts {
            events += hear(
                fact, of: nil, bringsPeriod: decision.bringsPeriod(of: fact, by: outcomes),
                decision.subscriptions.search, at: decision.decidedAt, from: partition)
            if let receipt = decision.subscriptions.receipt {
                subscriptions[fact.originalTransactionID]?.receipt = receipt
            }
        }
        return events
    }

    private mutating func first(
        _ fact: SubscriptionFact, of owner: PlayerID, bringsPeriod: Bool
    ) -> SubscriptionRow {
        var subscription = Subscription(fact, player: owner, bringsPeriod: bringsPeriod)
        if let before = announced.unownedSubscriptions.removeValue(forKey: subscription.originalTransactionID) {
            subscription.hear(before)
        }
        return SubscriptionRow(subscription: subscription)
    }

    private mutating func keepUnowned(_ fact: SubscriptionFact, at now: Timestamp) {
        let original = fact.originalTransactionID
        let isNews = announced.unownedSubscriptions[original]?.hear(fact)
        if isNews == nil { announced.unownedSubscriptions[original] = UnownedSubscription(fact) }
        guard isNews != false, announced.unownedSubscriptions[original] != nil, view.claims[original]?.player != nil,
            var row = subscriptions[original], row.app == StoreApp(fact.bundleID, in: fact.environment)
        else { return }
        row.subscription.check.dueAt = min(row.due, now)
        row.lease = nil
        subscriptions[original] = row
    }

    private mutating func hear(
        _ fact: SubscriptionFact, of check: SubscriptionCheck?, bringsPeriod: Bool, _ search: MissedPeriodSearch,
        at now: Timestamp, from partition: InMemoryLedger.Partition
    ) -> [OutcomeEvent] {
        let isCheck = check != nil
        let original = fact.originalTransactionID
        let app = StoreApp(fact.bundleID, in: fact.environment)
        let isPreviousLetIn =
            fact.previousOriginalTransactionID.map { isLetIn($0, in: app) || subscriptions[$0]?.app == app } ?? false
        if view.claims[original]?.player == nil, isPreviousLetIn, let previous = fact.previousOriginalTransactionID,
            let owner = view.claims[previous]?.player
        {
            view.claims[original, default: LedgerView.Claim(player: owner)].player = owner
        }
        guard let owner = view.claims[original]?.player,
            subscriptions[original] != nil || isPreviousLetIn || isLetIn(original, in: app)
        else {
            keepUnowned(fact, at: now)
            return []
        }
        var row = subscriptions[original] ?? first(fact, of: owner, bringsPeriod: bringsPeriod)
        row.subscription.player = owner
        let known = subscriptions[original]?.subscription
        let kept = known == nil ? nil : announced.unownedSubscriptions.removeValue(forKey: original)
        var hearing =
            known == nil ? .changed : row.subscription.hear(fact, after: kept, search, bringsPeriod: bringsPeriod)
        if let lost = row.lostRevision, isCheck || hearing != .known {
            row.subscription.tellAnew(above: lost)
            (hearing, row.lostRevision) = (.changed, nil)
        }
        var goesOn = false
        if let known, let check { goesOn = row.subscription.end(check, before: known.hearing(kept)) }
        row.subscription.scheduleCheck(
            after: hearing, isCheck: isCheck, goesOn: goesOn, retryAt: check?.retryAt(of: original), at: now, jitter: 0)
        if isCheck || hearing != .known { row.lease = nil }
        subscriptions[original] = row
        guard hearing == .changed else { return [] }
        let event = OutcomeEvent.subscriptionChanged(row.subscription, at: now)
        outbox.append(OutboxRow(event, traceparent: nil, of: partition))
        return [event]
    }
}
