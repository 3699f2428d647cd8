import Encodings
import Fulfillment
import NamesAndTimes
import Postgres

/// Subscriptions in PostgreSQL, for workers that check them with Apple. Every function throws a `PostgresError`.
public struct PostgresSubscriptions: FollowedSubscriptions {
    /// The seconds of a lease, by PostgreSQL's clock, in which a worker checks one subscription. The lease is longer
    /// than Apple may take to answer with a few pages. Each of up to eight earlier leases without a result doubles
    /// the time.
    public static let leaseSeconds = 120.0
    /// The seconds until the next check of a subscription for which the database refused Apple's answer. The database
    /// would refuse the same answer again.
    static let refusedSeconds = 86_400.0

    private static let leasing = LedgerSQL.statement(PackageResources.lease_due_subscriptions_sql)
    private static let leasingChosen = LedgerSQL.statement(PackageResources.lease_chosen_subscription_sql)
    private static let rescheduling = LedgerSQL.statement(PackageResources.reschedule_subscription_sql)
    private static let endingLease = LedgerSQL.statement(PackageResources.end_subscription_lease_sql)
    private static let finding = LedgerSQL.statement(PackageResources.find_subscriptions_sql)

    private let pool: PostgresPool
    private let leaseSeconds: Double

    public init(pool: PostgresPool, leaseSeconds: Double = PostgresSubscriptions.leaseSeconds) {
        self.pool = pool
        self.leaseSeconds = leaseSeconds
    }

    public func leaseDue(room: [(app: BundleID, most: Int)], limit: Int) async throws -> [LeasedSubscription] {
        let apps = room.filter { $0.most > 0 }
        guard !apps.isEmpty, limit > 0 else { return [] }
        return try await pool.run { [leaseSeconds] session in
            let rows = try session.execute(
                Self.leasing,
                [
                    .identifiers(apps.lazy.map(\.app)), .int8Array(apps.map { Int64($0.most) }),
                    .float8(leaseSeconds), .int8(Int64(limit)),
                ])
            return try Self.leased(rows)
        }
    }

    /// Leases one subscription, even if it is not due or another worker has it. Returns nil if the subscription does
    /// not exist.
    public func lease(_ original: StoreTransactionID) async throws -> LeasedSubscription? {
        try await pool.run { [leaseSeconds] session in
            let rows = try session.execute(Self.leasingChosen, [.text(original.text), .float8(leaseSeconds)])
            return try Self.leased(rows).first
        }
    }

    private static func leased(_ rows: PostgresRows) throws -> [LeasedSubscription] {
        let columns = try FollowedColumns(rows)
        let (lease, receipt) = (try rows.column("leased_until"), try rows.column("receipt"))
        return (0..<rows.count).compactMap { row in
            guard let subscription = Subscription(rows, row, columns),
                let until = rows.timestampMicroseconds(row, lease)
            else { return nil }
            return LeasedSubscription(
                subscription, receipt: rows.bytes(row, receipt).map(Base64.encode), lease: until)
        }
    }

    public func settle(_ check: SubscriptionCheck, catalog: Catalog) async throws -> [OutcomeEvent] {
        let write = SubscriptionCheckWrite(check: check, catalog: catalog)
        do {
            return try await pool.run { try write.run(in: $0) }
        } catch let error as PostgresError where error.kind == .data {
            try await reschedule(check.leased, dueAfterSeconds: Self.refusedSeconds)
            throw error
        }
    }

    public func reschedule(_ leased: LeasedSubscription, dueAfterSeconds: Double) async throws {
        try await pool.change(
            .text(leased.originalTransactionID.text), leasedAs: leased.lease, by: Self.rescheduling,
            [.float8(dueAfterSeconds), .bool(false)])
    }

    public func endLease(of leased: LeasedSubscription) async throws {
        try await pool.change(.text(leased.originalTransactionID.text), leasedAs: leased.lease, by: Self.endingLease)
    }

    public func known(_ originals: [StoreTransactionID]) async throws -> [Subscription] {
        try await pool.run { try Self.known(Set(originals).sorted(), in: $0) }
    }

    public func told(of original: StoreTransactionID) async throws -> Subscription? {
        try await pool.run { session in
            let kept = try UnownedSubscriptions.find([original], in: session)[original]
            return try Self.known([original], in: session).first?.hearing(kept) ?? kept?.subscription
        }
    }

    private static func known(
        _ sorted: [StoreTransactionID], in session: PostgresSession
    ) throws -> [Subscription] {
        let rows = try session.execute(finding, [.identifiers(sorted)])
        let columns = try FollowedColumns(rows)
        return (0..<rows.count).compactMap { Subscription(rows, $0, columns) }
    }
}
