import Fulfillment
import Identifiers
import Postgres
import Timestamps

/// Purchases that Apple told of, in PostgreSQL. Any number of replicas at once: leases part the work, the claims' locks
/// order what is decided.
public final class PostgresAnnouncements: AnnouncedPurchases {
    /// Of a lease. Work on one takes no question to anyone; a worker that is slower has lost it, and its delivery with it.
    public static let leaseSeconds = 20.0
    /// For which what Apple signed is kept: so long its history tells it, too.
    private static let evidenceDays: Int32 = 180
    /// Until one is tried again that met a row which no look had found.
    private static let retrySeconds = 60.0
    /// Nothing is written to be due later than this.
    private static let farthestDueSeconds = 600.0

    private static let leasing = LedgerSQL.statement(PackageResources.lease_due_announced_purchases_sql)
    private static let resetting = LedgerSQL.statement(PackageResources.reset_future_announced_purchases_sql)
    private static let forgetting = LedgerSQL.statement(PackageResources.forget_announced_evidence_sql)
    private static let puttingOff = LedgerSQL.statement(PackageResources.put_off_announced_purchases_sql)

    private let pool: PostgresPool
    private let waitSeconds: Double
    private let leaseSeconds: Double

    /// - Parameter waitSeconds: how long one waits for its submission.
    public init(
        pool: PostgresPool, waitSeconds: Double, leaseSeconds: Double = PostgresAnnouncements.leaseSeconds
    ) {
        self.pool = pool
        self.waitSeconds = waitSeconds
        self.leaseSeconds = leaseSeconds
    }

    public func leaseDue(under catalog: Catalog, limit: Int) async throws -> [LeasedAnnouncement] {
        try await pool.run { [leaseSeconds, waitSeconds] session in
            try session.transaction { session in
                // Every time, and not from memory: a database that was put back has lost it.
                try MissedPurchaseGrants.keep(
                    catalog.appsGrantingMissedPurchases, since: catalog.version, in: session)
                try DueTimes.mend(Self.resetting, farthestSeconds: Self.farthestDueSeconds, in: session)
                let rows = try session.execute(
                    Self.leasing,
                    [.int8(Int64(limit)), .float8(leaseSeconds), .int8(catalog.version), .float8(waitSeconds)])
                let found = try LeasedAnnouncements(rows)
                try UpdateAnnounced.run(
                    found.unreadable.map { UpdateAnnounced.Row(transaction: $0, unclaimed: .unreadable) },
                    catalogVersion: catalog.version, in: session)
                return found.leased.sorted { StorePurchase.isBefore($0.purchase.purchase, $1.purchase.purchase) }
            }
        }
    }

    /// Of what is older than Apple tells it: ids and dates stay. Returns how many.
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

    public func deliver(
        _ leased: [LeasedAnnouncement], under catalog: Catalog, at now: Timestamp
    ) async throws -> [AnnouncedOutcome] {
        guard !leased.isEmpty else { return [] }
        let delivery = AnnouncedDelivery(leased: leased, catalog: catalog, now: now)
        do {
            return try await pool.run { try delivery.run(in: $0) }
        } catch {
            // One whose data the database refuses, or that meets an unknown grant, holds up no other.
            guard error is DecisionBatchWrite.Undone || PostgresError(caught: error).kind == .data else { throw error }
            if leased.count == 1 { return try await setAside(leased[0], for: error, under: catalog) }
        }
        var outcomes: [AnnouncedOutcome] = []
        for one in leased { outcomes += try await deliver([one], under: catalog, at: now) }
        return outcomes
    }

    /// Nothing where its lease is over, or where it was claimed meanwhile.
    func setAside(
        _ one: LeasedAnnouncement, for error: any Error, under catalog: Catalog
    ) async throws -> [AnnouncedOutcome] {
        let transaction = one.purchase.purchase.transactionID
        if error is DecisionBatchWrite.Undone {
            try await pool.run { session in
                _ = try session.execute(
                    Self.puttingOff,
                    [
                        .identifiers([transaction]), .timestamptzArray(unixMicroseconds: [one.lease]),
                        .float8(Self.retrySeconds),
                    ])
            }
            return []
        }
        return try await pool.run { session in
            try session.transaction { session in
                let open = try session.execute(
                    AnnouncedDelivery.locking,
                    [.identifiers([transaction]), .timestamptzArray(unixMicroseconds: [one.lease])])
                guard open.count == 1 else { return [] }
                try UpdateAnnounced.run(
                    [UpdateAnnounced.Row(transaction: transaction, unclaimed: .unreadable)],
                    catalogVersion: catalog.version, in: session)
                return [AnnouncedOutcome(of: one.purchase, .unclaimed, reason: UnclaimedReason.unreadable.rawValue)]
            }
        }
    }
}

/// What is written of the purchases themselves.
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
