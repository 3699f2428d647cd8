import Fulfillment
import NamesAndTimes
import Postgres

/// Apple's facts that no row in `subscriptions` has, because nothing is granted yet, the app does not follow renewals,
/// or the catalog lacks the app. The subscription's row takes over these facts when a worker inserts the row, or at the
/// row's next write.
enum UnownedSubscriptions {
    private static let finding = LedgerSQL.statement(PackageResources.find_unowned_subscriptions_sql)
    private static let writing = LedgerSQL.statement(PackageResources.upsert_unowned_subscriptions_sql)
    private static let taking = LedgerSQL.statement(PackageResources.take_unowned_subscriptions_sql)

    /// Stores facts in the SQL transaction of their source, with the claims of their originals locked. Without facts
    /// there is no round trip. Otherwise there is one, and a second one if a fact is new. If a fact is new and its
    /// subscription has a row with an owner, the row becomes due at once.
    static func keep(_ facts: [SubscriptionFact], in session: PostgresSession) throws {
        let telling = facts.filter { UnownedSubscription($0) != nil }
        guard !telling.isEmpty else { return }
        let originals = Set(telling.map(\.originalTransactionID)).sorted()
        var known = try find(originals, in: session)
        var changed: Set<StoreTransactionID> = []
        for fact in telling {
            let original = fact.originalTransactionID
            let isNews = known[original]?.hear(fact)
            if isNews == nil { known[original] = UnownedSubscription(fact) }
            if isNews != false { changed.insert(original) }
        }
        let rows = changed.sorted().compactMap { known[$0]?.subscription }
        guard !rows.isEmpty else { return }
        try session.execute(
            writing,
            [
                .identifiers(rows.lazy.map(\.originalTransactionID)), .identifiers(rows.lazy.map(\.bundleID)),
                .identifiers(rows.lazy.map(\.productID)), .textArray(rows.map(\.subscriptionGroupID)),
                .textArray(rows.map(\.state.rawValue)), .timestamps(rows.map(\.expiresAt)),
                .timestamps(rows.map(\.graceExpiresAt)), .boolArray(rows.map(\.willRenew)),
                .textArray(rows.map { $0.renewalProductID?.text }), .textArray(rows.map(\.environment.rawValue)),
                .timestamps(rows.map(\.told.periodBeganAt)), .timestamps(rows.map(\.told.stateAt)),
                .timestamps(rows.map(\.told.willRenewAt)), .timestamps(rows.map(\.told.renewalProductAt)),
            ])
    }

    /// Returns the stored facts about these originals.
    /// - Parameter originals: sorted.
    static func find(
        _ originals: [StoreTransactionID], in session: PostgresSession
    ) throws -> [StoreTransactionID: UnownedSubscription] {
        try read(session.execute(finding, [.identifiers(originals)])).told
    }

    /// The originals and the facts that `take` found.
    struct LetIn {
        /// The originals that have a row, or get one because something is granted under them or under the original that
        /// they continue.
        var originals: Set<StoreTransactionID> = []
        /// The earlier facts about these originals. COMMIT deletes them from `unowned_subscriptions`.
        var told: [StoreTransactionID: UnownedSubscription] = [:]
        /// The revision at which each original starts, if it is not 1. After a restore it is above all revisions that
        /// workers may have published and PostgreSQL has lost.
        var firstRevisions: [StoreTransactionID: Int32] = [:]
    }

    /// Removes stored facts from the table. Call it after the grants of this SQL transaction, with the claims of the
    /// originals locked. A hold is not enough for a row, because nothing is delivered yet, and an operator may refuse
    /// the hold.
    /// - Parameter facts: facts about originals without a row in `subscriptions`, or with a row and stored facts.
    static func take(_ facts: [SubscriptionFact], in session: PostgresSession) throws -> LetIn {
        let previous = Dictionary(facts.map { ($0.originalTransactionID, $0.previousOriginalTransactionID) }) {
            $0 ?? $1
        }
        let apps = Dictionary(facts.map { ($0.originalTransactionID, StoreApp($0.bundleID, in: $0.environment)) }) {
            first, _ in first
        }
        let originals = previous.keys.sorted()
        guard !originals.isEmpty else { return LetIn() }
        let rows = try session.execute(
            taking,
            [
                .identifiers(originals), .textArray(originals.map { previous[$0]??.text }),
                .textArray(originals.map { apps[$0]?.bundleID.text }),
                .textArray(originals.map { apps[$0]?.environment.rawValue }),
            ])
        var letIn = try read(rows)
        let (original, first) = (try rows.column("original_transaction_id"), try rows.column("first_revision"))
        for row in 0..<rows.count {
            guard let original = rows.text(row, original),
                let number = rows.int4(row, first).flatMap({ Int32(exactly: $0) }), number > 1
            else { continue }
            letIn.firstRevisions[Identifier(original)] = number
        }
        return letIn
    }

    private static func read(_ rows: PostgresRows) throws -> LetIn {
        let columns = try FollowedColumns(rows)
        var found = LetIn()
        for row in 0..<rows.count {
            guard let original = rows.text(row, columns.shown.original) else { continue }
            found.originals.insert(Identifier(original))
            guard let subscription = Subscription(rows, row, columns) else { continue }
            found.told[Identifier(original)] = UnownedSubscription(stored: subscription)
        }
        return found
    }
}
