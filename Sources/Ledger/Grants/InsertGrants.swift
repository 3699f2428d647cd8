import Fulfillment
import NamesAndTimes
import Postgres

struct GrantRow {
    let grant: Settlement.NewGrant
    let decision: PendingDecision
    /// True if this SQL transaction inserted the claim of the original transaction. Then Apple has not announced the
    /// purchase, because an announcement inserts that claim.
    var hasNewClaim = false

    /// True if Apple may have announced the purchase, or a period or subscription that continues it.
    fileprivate var mayBeAwaited: Bool {
        !hasNewClaim || grant.kind != .consumable && grant.kind != .nonConsumable || grant.purchase.expiresAt != nil
    }
}

/// A delivery to report to Apple.
struct FinishRow {
    let finish: Settlement.Finish
    let bundleID: BundleID
    let environment: StoreEnvironment

    init(_ finish: Settlement.Finish, of decision: PendingDecision) {
        self.finish = finish
        bundleID = decision.submission.bundleID
        environment = decision.environment
    }

    init?(_ row: GrantRow) {
        guard let finish = row.decision.finish(of: row.grant) else { return nil }
        self.init(finish, of: row.decision)
    }

    /// Returns each transaction once, sorted by transaction.
    fileprivate static func sorted(_ rows: [FinishRow]) -> [FinishRow] {
        guard rows.count > 1 else { return rows }
        var seen: Set<StoreTransactionID> = []
        return rows.filter { seen.insert($0.finish.transactionID).inserted }
            .sorted { $0.finish.transactionID < $1.finish.transactionID }
    }
}

enum InsertGrants {
    private static let statement = LedgerSQL.statement(PackageResources.insert_grants_sql)

    /// Inserts grants, and returns the number of new grants. `rows` must be sorted by transaction.
    /// - Parameter others: deliveries of earlier grants, which workers also report to Apple.
    static func run(_ rows: [GrantRow], others: [FinishRow] = [], in session: PostgresSession) throws -> Int {
        guard !rows.isEmpty || !others.isEmpty else { return 0 }
        return try session.execute(statement, parameters(rows, others: others)).count
    }

    static func parameters(_ rows: [GrantRow], others: [FinishRow]) -> [PostgresParameter] {
        let finishes = FinishRow.sorted(rows.compactMap(FinishRow.init) + others)
        let awaited = rows.filter(\.mayBeAwaited)
        return [
            .identifiers(rows.lazy.map(\.grant.purchase.transactionID)),
            .identifiers(rows.lazy.map(\.grant.purchase.originalTransactionID)),
            .identifiers(rows.lazy.map(\.decision.submission.playerID)),
            .identifiers(rows.lazy.map(\.decision.submission.bundleID)),
            .identifiers(rows.lazy.map(\.grant.purchase.productID)),
            .int4Array(rows.map(\.grant.purchase.quantity)),
            .textArray(rows.map { $0.decision.environment.rawValue }),
            .timestamps(rows.map(\.grant.purchase.purchasedAt)),
            .identifiers(rows.lazy.map(\.decision.submission.submissionID)),
            .timestamps(rows.map(\.decision.decidedAt)),
            .uuids(rows.lazy.map(\.decision.identity)),
            .textArray(rows.map { $0.grant.kind?.rawValue }),
            sparse(rows.map(\.grant.purchase.expiresAt)) { .timestamps($0) },
            .byteaArray(rows.map(\.grant.event.value)),
            .int8Array(rows.map(\.decision.catalogVersion)),
            .boolArray(rows.map { $0.decision.isBound($0.grant.purchase) }),
            sparse(rows.map { $0.grant.purchase.appTransactionID?.text }) { .textArray($0) },
        ] + toldColumns(rows) + [
            .identifiers(finishes.lazy.map(\.finish.transactionID)),
            .identifiers(finishes.lazy.map(\.bundleID)),
            .textArray(finishes.map(\.environment.rawValue)),
            .uuids(finishes.lazy.map(\.finish.eventID)),
            .identifiers(awaited.lazy.map(\.grant.purchase.transactionID)),
            .identifiers(awaited.lazy.map(\.grant.purchase.originalTransactionID)),
            sparse(rows.map { $0.decision.period(of: $0.grant)?.text }) { .textArray($0) },
        ]
    }

    /// Returns Apple's values that the rules do not need. A value that Apple did not give is NULL.
    private static func toldColumns(_ rows: [GrantRow]) -> [PostgresParameter] {
        let told = rows.map(\.grant.purchase.told)
        return [
            sparse(told.map { $0?.priceMilliunits }) { .int8Array($0) },
            sparse(rows.map(\.grant.purchase.currency)) { .textArray($0) },
            sparse(told.map { $0?.storefront }) { .textArray($0) },
            sparse(told.map { $0?.offerType }) { .int4Array($0) },
            sparse(told.map { $0?.offerDiscountType }) { .textArray($0) },
            sparse(told.map { $0?.transactionReason }) { .textArray($0) },
            sparse(told.map { $0?.isTrial == true ? true : nil }) { .boolArray($0) },
        ]
    }

    /// Returns an empty array if all values are NULL, as in a batch of receipts. `unnest` fills a shorter array with
    /// NULLs.
    private static func sparse<Value>(
        _ values: [Value?], _ parameter: ([Value?]) -> PostgresParameter
    ) -> PostgresParameter {
        parameter(values.contains { $0 != nil } ? values : [])
    }
}
