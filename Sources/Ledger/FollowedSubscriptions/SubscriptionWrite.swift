import Fulfillment
import NamesAndTimes
import Postgres

/// Writes Apple's facts about subscriptions to the database.
enum SubscriptionWrite {
    /// A fact with its source and the owner of its subscription.
    struct Told {
        let fact: SubscriptionFact
        let owner: PlayerID
        let source: Source
        /// The check whose answer has the fact; nil if the fact did not come from a check.
        var check: SubscriptionCheck?
        /// The app's policy for missed periods.
        var search = MissedPeriodSearch.never
        /// True if the caller writes the period too, or has granted it. If false, a worker requests it from Apple.
        let bringsPeriod: Bool
        let at: Timestamp
    }

    /// The record to which an event belongs. If an event has no record and this process dies, a worker that sweeps the
    /// outbox publishes the event.
    struct Source {
        var topic = ""
        var partition: Int32 = 0
        var traceparent: String?

        static let none = Source()
    }

    private static let finding = LedgerSQL.statement(PackageResources.find_subscriptions_sql)
    private static let writing = LedgerSQL.statement(PackageResources.upsert_subscriptions_sql)
    private static let writingReceipts = LedgerSQL.statement(PackageResources.upsert_subscription_receipts_sql)
    private static let passingOn = LedgerSQL.statement(PackageResources.pass_on_claims_sql)

    /// Applies facts in the SQL transaction of their source, with the claims of their originals locked. Inserts their
    /// events into the outbox, and returns them.
    /// - Parameters:
    ///   - periods: the announced purchases that are written with the facts.
    ///   - catalog: the newest catalog. Only apps that follow renewals have subscriptions. A fact of another app is
    ///     only stored, because it may name a grace period. A fact of an app that the catalog lacks is also stored,
    ///     because a newer catalog may have the app.
    static func apply(
        _ facts: [SubscriptionFact], with periods: [AnnouncedPurchase], at now: Timestamp, catalog: Catalog,
        in session: PostgresSession
    ) throws -> [OutcomeEvent] {
        try apply(facts, with: periods, of: nil, at: now, catalog: catalog, in: session)
    }

    /// Does the same as the function above, also for Apple's answer to a check.
    /// - Parameter check: the check whose answer has the facts; nil if the facts did not come from a check.
    static func apply(
        _ facts: [SubscriptionFact], with periods: [AnnouncedPurchase] = [], of check: SubscriptionCheck?,
        at now: Timestamp, catalog: Catalog, in session: PostgresSession
    ) throws -> [OutcomeEvent] {
        let followed = facts.filter { catalog.apps[$0.bundleID]?.followsRenewals == true }
        try UnownedSubscriptions.keep(facts.filter { catalog.apps[$0.bundleID]?.followsRenewals != true }, in: session)
        guard !followed.isEmpty else { return [] }
        let originals = Set(followed.map(\.originalTransactionID)).sorted()
        var owners = try LockClaims.run(originals, in: session).compactMapValues(\.player)
        try passOn(followed, to: &owners, in: session)
        let began = try beginsOfSeats(among: periods, in: session)
        try UnownedSubscriptions.keep(followed.filter { owners[$0.originalTransactionID] == nil }, in: session)
        let told = followed.compactMap { fact -> Told? in
            guard let owner = owners[fact.originalTransactionID] else { return nil }
            let period = periods.first { fact.isOfPeriod(of: $0.purchase) }
            var heard = fact
            if let period, let time = began[period.purchase.transactionID] { heard.periodBeganAt = time }
            return Told(
                fact: heard, owner: owner, source: .none, check: check,
                search: catalog.apps[fact.bundleID]?.missedPeriodSearch ?? .never,
                // After a check, the caller writes the answer's period too, unless nothing is granted for the period.
                bringsPeriod: check != nil || period != nil, at: now)
        }
        return try write(told, in: session).map(\.event)
    }

    /// Returns, by transaction, the start of the period to which a transaction adds seats. Apple reports added seats as
    /// a transaction of its own. A fact about seats must not start a new period, because the period would then be
    /// delivered.
    private static func beginsOfSeats(
        among periods: [AnnouncedPurchase], in session: PostgresSession
    ) throws -> [StoreTransactionID: Timestamp] {
        var view = LedgerView()
        try FindGrantedPeriods.run(of: periods.compactMap { PeriodPurchase($0) }, into: &view, in: session)
        var began: [StoreTransactionID: Timestamp] = [:]
        for purchase in periods {
            let id = purchase.purchase.transactionID
            let granted = PeriodPurchase(purchase).flatMap { view.periods[$0.period] } ?? [:]
            began[id] = granted.filter { $0.key != id && $0.value < purchase.purchase.purchasedAt }.values.min()
        }
        return began
    }

    /// If a subscription has no owner, gives it the owner of the subscription that it continues.
    private static func passOn(
        _ facts: [SubscriptionFact], to owners: inout [StoreTransactionID: PlayerID], in session: PostgresSession
    ) throws {
        let known = owners
        let following = facts.filter {
            known[$0.originalTransactionID] == nil && $0.previousOriginalTransactionID != nil
        }
        let each = Dictionary(following.map { ($0.originalTransactionID, $0) }, uniquingKeysWith: { $1 }).values
            .sorted { $0.originalTransactionID < $1.originalTransactionID }
        guard !each.isEmpty else { return }
        let rows = try session.execute(
            passingOn,
            [
                .identifiers(each.lazy.map(\.originalTransactionID)),
                .textArray(each.map { $0.previousOriginalTransactionID?.text }),
                .identifiers(each.lazy.map(\.bundleID)), .textArray(each.map(\.environment.rawValue)),
            ])
        let (original, player) = (try rows.column("original_transaction_id"), try rows.column("player_id"))
        for row in 0..<rows.count {
            guard let original = rows.text(row, original), let player = rows.text(row, player) else { continue }
            owners[Identifier(original)] = Identifier(player)
        }
    }

    /// Writes facts in the SQL transaction of their source, after the transaction's grants. The caller has locked the
    /// claims of the facts' originals. A subscription without a grant gets no row. Without facts there is no round
    /// trip. Otherwise there are two, and more for new subscriptions and for kept facts.
    /// Returns the events, each with the index of its fact in `told`.
    static func write(_ told: [Told], in session: PostgresSession) throws -> [(event: OutcomeEvent, place: Int)] {
        guard !told.isEmpty else { return [] }
        let originals = Set(told.map(\.fact.originalTransactionID)).sorted()
        let rows = try session.execute(finding, [.identifiers(originals)])
        let columns = try FollowedColumns(rows)
        let isFromBeforeFall = try rows.column("is_from_before_fall")
        let hasKeptFacts = try rows.column("has_kept_facts")
        var subscriptions: [StoreTransactionID: Subscription] = [:]
        var fromBeforeFall: Set<StoreTransactionID> = []
        var withoutKeptFacts: Set<StoreTransactionID> = []
        for row in 0..<rows.count {
            guard let known = Subscription(rows, row, columns) else { continue }
            subscriptions[known.originalTransactionID] = known
            if rows.bool(row, isFromBeforeFall) == true { fromBeforeFall.insert(known.originalTransactionID) }
            if rows.bool(row, hasKeptFacts) == false { withoutKeptFacts.insert(known.originalTransactionID) }
        }
        var heard = HeardSubscriptions(subscriptions, fromBeforeFall: fromBeforeFall)
        let new = told.map(\.fact).filter { subscriptions[$0.originalTransactionID] == nil }
        let taking = told.map(\.fact).filter { !withoutKeptFacts.contains($0.originalTransactionID) }
        let letIn = try UnownedSubscriptions.take(taking, in: session)
        (heard.unowned, heard.firstRevisions) = (letIn.told, letIn.firstRevisions)
        try UnownedSubscriptions.keep(new.filter { !letIn.originals.contains($0.originalTransactionID) }, in: session)
        for (place, one) in told.enumerated() {
            let original = one.fact.originalTransactionID
            guard subscriptions[original] != nil || letIn.originals.contains(original) else { continue }
            // The subscription of an erased player does not change, because nobody gets its events.
            if !one.owner.isPseudonym { heard.hear(one, at: place) }
        }
        guard !heard.written.isEmpty else { return [] }
        let entered = try session.execute(writing, heard.columns)
        let id = try entered.column("event_id")
        let ids = Set((0..<entered.count).compactMap { entered.uuid($0, id)?.nameBased })
        return heard.events.filter { ids.contains($0.event.eventID) }.map { ($0.event, $0.place) }
    }

    /// Stores the newest receipt of each subscription. A worker sends it to Apple in the next check.
    static func keep(_ receipts: [StoreTransactionID: [UInt8]], in session: PostgresSession) throws {
        guard !receipts.isEmpty else { return }
        let sorted = receipts.sorted { $0.key < $1.key }
        try session.execute(
            writingReceipts, [.identifiers(sorted.lazy.map(\.key)), .byteaArray(sorted.map(\.value))])
    }
}
