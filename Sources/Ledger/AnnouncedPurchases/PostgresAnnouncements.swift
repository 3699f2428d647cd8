import Fulfillment
import NamesAndTimes
import Postgres

/// Announced purchases in PostgreSQL. Many replicas may use the tables at once: leases divide the work, and locks on
/// claims put decisions in order.
public final class PostgresAnnouncements: AnnouncedPurchases {
    /// The shortest lease in seconds. A worker that needs longer loses the lease and does not deliver.
    public static let leaseSeconds = 20.0
    /// The seconds of a lease that remain for the database after a request to Apple.
    private static let deliverySeconds = 10.0
    /// The longest lease in seconds. After leases without a result, the next lease is up to six times as long. Even
    /// then a lease must be shorter than ten minutes, because the statements ignore a lease that ends later: a clock
    /// that was ahead must have written it.
    private static let longestLeaseSeconds = 90.0
    /// The days for which receiptd keeps Apple's signed data. Apple's notification history is as long.
    private static let evidenceDays: Int32 = 180
    /// The most unclaimed purchases of unknown apps that are kept. Apple's signature is valid for every app, so anyone
    /// who can post notifications could fill the table.
    public static let maximumOfUnknownApps = 100_000
    /// A purchase is set aside after this many deaths of workers that worked on it alone.
    static let deathsOfPoison: Int32 = 3
    /// The seconds until the next try of a purchase after `Undone`, or after an error of an unknown kind.
    private static let retrySeconds = 60.0
    /// The latest due time that a writer sets, in seconds from now.
    private static let farthestDueSeconds = 600.0

    private static let leasing = LedgerSQL.statement(PackageResources.lease_due_announced_purchases_sql)
    private static let leasingSuspect = LedgerSQL.statement(PackageResources.lease_suspect_announced_purchase_sql)
    private static let clearing = LedgerSQL.statement(PackageResources.clear_announced_suspicion_sql)
    private static let resetting = LedgerSQL.statement(PackageResources.reset_future_announced_purchases_sql)
    private static let forgetting = LedgerSQL.statement(PackageResources.forget_announced_evidence_sql)
    private static let dropping = LedgerSQL.statement(PackageResources.delete_unknown_apps_announced_sql)
    private static let puttingOff = LedgerSQL.statement(PackageResources.put_off_announced_purchases_sql)

    private let pool: PostgresPool
    private let waitSeconds: Double
    private let leaseSeconds: Double
    private let observer: LedgerObserver
    private let mending = DueTimes.Mending(
        PostgresAnnouncements.resetting, farthestSeconds: PostgresAnnouncements.farthestDueSeconds)

    /// - Parameters:
    ///   - waitSeconds: the seconds for which a purchase waits for its submission.
    ///   - appleSeconds: the time-out of a request to Apple, in seconds.
    public init(
        pool: PostgresPool, waitSeconds: Double, appleSeconds: Double = 0, observer: LedgerObserver = LedgerObserver()
    ) {
        self.pool = pool
        self.waitSeconds = waitSeconds
        leaseSeconds = min(max(Self.leaseSeconds, appleSeconds + Self.deliverySeconds), Self.longestLeaseSeconds)
        self.observer = observer
    }

    public func leaseDue(under catalog: Catalog, limit: Int) async throws -> [LeasedAnnouncement] {
        try await pool.run { [leaseSeconds, waitSeconds, mending] session in
            // A worker first stores the time since which each app grants missed purchases, because a restored database
            // may lack this time.
            try MissedPurchaseGrants.keep(
                catalog.appsGrantingMissedPurchases, since: catalog.version, in: session)
            try mending.mendNowAndThen(in: session)
            // The lease is committed before a worker reads the rows. So it counts even if a row kills the worker.
            let rows = try session.execute(
                Self.leasing,
                [.int8(Int64(limit)), .float8(leaseSeconds), .int8(catalog.version), .float8(waitSeconds)])
            return try Self.leased(rows, under: catalog, in: session)
                .sorted { StorePurchase.isBefore($0.purchase.purchase, $1.purchase.purchase) }
        }
    }

    public func leaseSuspect(
        under catalog: Catalog
    ) async throws -> SuspectLease<LeasedAnnouncement, SetAsidePurchase> {
        try await pool.run { [leaseSeconds, waitSeconds] session in
            // This lease, too, is committed before a worker reads the row.
            let rows = try session.execute(
                Self.leasingSuspect,
                [
                    .float8(leaseSeconds), .int4(Self.deathsOfPoison), .int8(catalog.version), .float8(waitSeconds),
                ])
            if let setAside = try SetAsidePurchase(rows, deaths: "deaths") { return .setAside(setAside) }
            return try Self.leased(rows, under: catalog, in: session).first.map { .isolated($0) } ?? .none
        }
    }

    public func forgive(_ leased: [LeasedAnnouncement]) async throws {
        let sorted = leased.sorted { $0.purchase.purchase.transactionID < $1.purchase.purchase.transactionID }
        try await pool.run { session in
            _ = try session.execute(
                Self.clearing,
                [
                    .identifiers(sorted.lazy.map(\.purchase.purchase.transactionID)),
                    .timestamptzArray(unixMicroseconds: sorted.map(\.lease)),
                ])
        }
    }

    /// Returns the readable purchases, and marks the unreadable purchases as unclaimed.
    private static func leased(
        _ rows: PostgresRows, under catalog: Catalog, in session: PostgresSession
    ) throws -> [LeasedAnnouncement] {
        let found = try LeasedAnnouncements(rows)
        try leaveUnreadable(found.unreadable, under: catalog, in: session)
        return found.leased
    }

    /// Marks purchases as unclaimed. Returns the purchases that were still leased and unsettled. Players have got the
    /// other purchases meanwhile.
    @discardableResult
    private static func leaveUnreadable(
        _ unreadable: [(transaction: StoreTransactionID, lease: LeasedAnnouncement.Lease)], under catalog: Catalog,
        in session: PostgresSession
    ) throws -> Set<StoreTransactionID> {
        guard !unreadable.isEmpty else { return [] }
        return try session.transaction { session in
            let rows = try session.execute(
                AnnouncedDelivery.locking,
                [
                    .identifiers(unreadable.lazy.map(\.transaction)),
                    .timestamptzArray(unixMicroseconds: unreadable.map(\.lease)),
                ])
            let transaction = try rows.column("transaction_id")
            let open = Set((0..<rows.count).compactMap { rows.text($0, transaction).map { StoreTransactionID($0) } })
            try UpdateAnnounced.run(
                open.map { UpdateAnnounced.Row(transaction: $0, unclaimed: .unreadable) },
                catalogVersion: catalog.version, in: session)
            return open
        }
    }

    /// Deletes the evidence and tokens of purchases that are older than Apple's history, but keeps ids and dates.
    /// Returns the number of purchases.
    static func forgetEvidence(in pool: PostgresPool) async throws -> Int {
        var forgotten = 0
        while true {
            let count = try await pool.run {
                try $0.execute(forgetting, [.int4(evidenceDays), .int8(Int64(OutcomeRetention.prunedAtATime))])
                    .affectedRows
            }
            forgotten += count
            if count < OutcomeRetention.prunedAtATime { return forgotten }
        }
    }

    /// Deletes the oldest unclaimed purchases of unknown apps, so that `maximum` remain. Returns the number of deleted
    /// rows.
    static func dropUnknownApps(
        in pool: PostgresPool, maximum: Int = maximumOfUnknownApps, atATime: Int = OutcomeRetention.prunedAtATime
    ) async throws -> Int {
        var dropped = 0
        while true {
            let count = try await pool.run {
                try $0.execute(dropping, [.int8(Int64(maximum)), .int8(Int64(atATime))]).affectedRows
            }
            dropped += count
            if count < atATime { return dropped }
        }
    }

    public func deliver(
        _ leased: [LeasedAnnouncement], under catalog: Catalog, at now: Timestamp
    ) async throws -> [AnnouncedOutcome] {
        guard !leased.isEmpty else { return [] }
        let delivery = AnnouncedDelivery(leased: leased, catalog: catalog, now: now)
        do {
            return try await pool.run { try delivery.run(in: $0) }
        } catch {
            // One purchase may be at fault, for example because the database refuses its data. So each purchase gets an
            // SQL transaction of its own, and delays no other purchase.
            guard Self.mayBeOfOne(error) else { throw error }
            if leased.count == 1 { return try await setAside(leased[0], for: error, under: catalog) }
        }
        var outcomes: [AnnouncedOutcome] = []
        var failure: (any Error)?
        for one in leased {
            do {
                outcomes += try await deliver([one], under: catalog, at: now)
            } catch {
                guard Self.mayBeOfOne(error) else { throw error }
                observer.trouble(.failed(PostgresError(caught: error)))
                failure = error
            }
        }
        // If all purchases fail, no single purchase is at fault.
        if outcomes.isEmpty, let failure { throw failure }
        return outcomes
    }

    private static func mayBeOfOne(_ error: any Error) -> Bool {
        if error is DecisionBatchWrite.Undone { return true }
        switch PostgresError(caught: error).kind {
        case .data, .other: return true
        case .connection, .commitOutcomeUnknown, .retriable: return false
        }
    }

    /// If the database refuses the purchase's data, marks the purchase as unclaimed and returns this outcome. Returns
    /// an empty list if the lease is over, or if the purchase was claimed meanwhile. After `Undone`, sets a later due
    /// time and returns an empty list. After an error of an unknown kind, sets a later due time and throws the error.
    func setAside(
        _ one: LeasedAnnouncement, for error: any Error, under catalog: Catalog
    ) async throws -> [AnnouncedOutcome] {
        let transaction = one.purchase.purchase.transactionID
        let isUndone = error is DecisionBatchWrite.Undone
        if isUndone || PostgresError(caught: error).kind == .other {
            try await pool.run { session in
                _ = try session.execute(
                    Self.puttingOff,
                    [
                        .identifiers([transaction]), .timestamptzArray(unixMicroseconds: [one.lease]),
                        .float8(Self.retrySeconds),
                    ])
            }
            if !isUndone { throw error }
            return []
        }
        let left = try await pool.run { session in
            try Self.leaveUnreadable([(transaction, one.lease)], under: catalog, in: session)
        }
        return left.map { _ in
            AnnouncedOutcome(of: one.purchase, .unclaimed, reason: UnclaimedReason.unreadable.rawValue)
        }
    }
}

extension SetAsidePurchase {
    /// Reads the result of a `lease_suspect_…` statement. Nil if the statement leased a row or found none.
    init?(_ rows: PostgresRows, deaths: StaticString) throws(PostgresError) {
        let (isIsolated, transaction) = (try rows.column("is_alone"), try rows.column("transaction_id"))
        let (bundle, died) = (try rows.column("bundle_id"), try rows.column(deaths))
        let source = try rows.column("source")
        guard rows.count > 0, rows.bool(0, isIsolated) == false else { return nil }
        self.init(
            transactionID: Identifier(rows.text(0, transaction) ?? ""),
            bundleID: Identifier(rows.text(0, bundle) ?? ""),
            // A newer replica may write a source that this version does not know.
            source: rows.text(0, source).flatMap(PurchaseSource.init(rawValue:)) ?? .submission,
            deaths: Int(rows.int4(0, died) ?? 0))
    }
}

enum UpdateAnnounced {
    struct Row: Sendable {
        let transaction: StoreTransactionID
        let state: AnnouncedOutcome.State
        let reason: String?
        let player: PlayerID?

        init(_ outcome: AnnouncedOutcome) {
            transaction = outcome.transactionID
            state = outcome.state
            reason = outcome.reason
            player = outcome.player
        }

        init(transaction: StoreTransactionID, unclaimed reason: UnclaimedReason) {
            self.transaction = transaction
            state = .unclaimed
            self.reason = reason.rawValue
            player = nil
        }
    }

    private static let statement = LedgerSQL.statement(PackageResources.update_announced_purchases_sql)

    static func run(_ rows: [Row], catalogVersion: Int64, in session: PostgresSession) throws {
        guard !rows.isEmpty else { return }
        let sorted = rows.sorted { $0.transaction < $1.transaction }
        try session.execute(
            statement,
            [
                .identifiers(sorted.lazy.map(\.transaction)), .textArray(sorted.map(\.state.rawValue)),
                .textArray(sorted.map(\.reason)), .textArray(sorted.map { $0.player?.text }), .int8(catalogVersion),
            ])
    }
}
