import Fulfillment
import NamesAndTimes
import Postgres

/// The subscriptions of one write. `hear` applies facts to the subscriptions one after the other, and collects the
/// changed subscriptions and their events for the write.
struct HeardSubscriptions {
    private var subscriptions: [StoreTransactionID: Subscription]
    private var checked: Set<StoreTransactionID> = []
    private var touched: Set<StoreTransactionID> = []
    /// Subscriptions without an event since a fall back of the database. Before the fall back, a worker may have
    /// published another state, which the database lost.
    private var fromBeforeFall: Set<StoreTransactionID>
    /// The earlier facts about subscriptions that had no owner then, or whose app did not follow renewals then.
    var unowned: [StoreTransactionID: UnownedSubscription] = [:]
    /// The first revisions of those new subscriptions that do not start with 1.
    var firstRevisions: [StoreTransactionID: Int32] = [:]
    /// The events, each with the index of the fact that caused it.
    private(set) var events: [(event: OutcomeEvent, source: SubscriptionWrite.Source, place: Int)] = []

    init(_ known: [StoreTransactionID: Subscription], fromBeforeFall: Set<StoreTransactionID>) {
        subscriptions = known
        self.fromBeforeFall = fromBeforeFall
    }

    mutating func hear(_ told: SubscriptionWrite.Told, at place: Int) {
        let original = told.fact.originalTransactionID
        let isCheck = told.check != nil
        var subscription: Subscription
        var goesOn = false
        var hearing: Subscription.Hearing
        if let known = subscriptions[original] {
            // A fact of another app, or of another environment, is not about this subscription.
            guard known.bundleID == told.fact.bundleID, known.environment == told.fact.environment else { return }
            subscription = known
            subscription.player = told.owner
            let kept = unowned.removeValue(forKey: original)
            hearing = subscription.hear(told.fact, after: kept, told.search, bringsPeriod: told.bringsPeriod)
            // After a fall back, the first check publishes the state again. If a fact confirms the state, no check
            // follows, so this fact publishes the state.
            if isCheck || hearing == .confirmed, hearing != .changed, fromBeforeFall.contains(original) {
                subscription.tellAnew(above: known.revision)
                hearing = .changed
            }
            // The check may have begun before the kept facts came. Then the check's answer may lack their period, and
            // must not end the search for that period.
            if let check = told.check { goesOn = subscription.end(check, before: known.hearing(kept)) }
        } else {
            subscription = Subscription(
                told.fact, player: told.owner, revision: firstRevisions[original] ?? 1, bringsPeriod: told.bringsPeriod)
            if let before = unowned.removeValue(forKey: original) { subscription.hear(before) }
            hearing = .changed
        }
        subscription.scheduleCheck(
            after: hearing, isCheck: isCheck, goesOn: goesOn, retryAt: told.check?.retryAt(of: original), at: told.at,
            jitter: Double.random(in: 0..<1))
        if isCheck { checked.insert(original) }
        if isCheck || hearing != .known || subscription.player != subscriptions[original]?.player {
            touched.insert(original)
        }
        subscriptions[original] = subscription
        if hearing == .changed {
            fromBeforeFall.remove(original)
            events.append((.subscriptionChanged(subscription, at: told.at), told.source, place))
        }
    }

    /// The subscriptions to write, sorted by original transaction.
    var written: [Subscription] {
        touched.sorted().compactMap { subscriptions[$0] }
    }

    /// The parameters of `upsert_subscriptions`.
    var columns: [PostgresParameter] {
        let rows = written
        return [
            .identifiers(rows.lazy.map(\.originalTransactionID)), .identifiers(rows.lazy.map(\.player)),
            .identifiers(rows.lazy.map(\.bundleID)), .identifiers(rows.lazy.map(\.productID)),
            .textArray(rows.map(\.subscriptionGroupID)), .textArray(rows.map(\.state.rawValue)),
            .timestamps(rows.map(\.expiresAt)), .timestamps(rows.map(\.graceExpiresAt)),
            .boolArray(rows.map(\.willRenew)), .textArray(rows.map { $0.renewalProductID?.text }),
            .textArray(rows.map(\.environment.rawValue)), .int4Array(rows.map(\.revision)),
            .timestamps(rows.map(\.told.periodBeganAt)), .timestamps(rows.map(\.told.stateAt)),
            .timestamps(rows.map(\.told.willRenewAt)), .timestamps(rows.map(\.told.renewalProductAt)),
            .timestamps(rows.map(\.check.dueAt)), .int4Array(rows.map(\.check.tries)),
            .timestamps(rows.map(\.check.historySince)),
            .boolArray(rows.map { checked.contains($0.originalTransactionID) }),
        ] + eventColumns + [.timestamps(rows.map(\.check.periodsSince))]
    }

    private var eventColumns: [PostgresParameter] {
        [
            .uuids(events.lazy.map(\.event.eventID)), .textArray(events.map(\.source.topic)),
            .int4Array(events.map(\.source.partition)), .int4Array(events.indices.map { Int32($0) }),
            .identifiers(events.lazy.map(\.event.playerID)), .textArray(events.map(\.source.traceparent)),
            .byteaArray(events.map(\.event.value)),
        ]
    }
}
