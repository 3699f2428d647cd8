import Fulfillment
import NamesAndTimes
import Postgres

/// Writes the claims of published events to PostgreSQL. Every function throws a `PostgresError`.
public struct PostgresClaims: PublishedClaims {
    private static let inserting = LedgerSQL.statement(PackageResources.insert_published_claims_sql)

    private static let countingLacking = LedgerSQL.statement(PackageResources.count_lacking_revisions_sql)
    private static let makingDue = LedgerSQL.statement(PackageResources.make_lacking_subscriptions_due_sql)

    private let pool: PostgresPool

    public init(pool: PostgresPool) { self.pool = pool }

    public func enter(_ claims: [PublishedClaim], noticedAt: Timestamp) async throws {
        guard !claims.isEmpty else { return }
        try await pool.run { session in
            _ = try session.execute(
                Self.inserting,
                [
                    .identifiers(claims.lazy.map(\.id)), .identifiers(claims.lazy.map(\.playerID)),
                    .identifiers(claims.lazy.map(\.bundleID)),
                    .textArray(claims.map { $0.grantedTransactionID?.text }),
                    .identifiers(claims.lazy.map(\.transactionID)),
                    .timestamptz(unixMicroseconds: noticedAt.milliseconds * 1000),
                ])
        }
    }

    public func countLacking(_ published: [PublishedRevision]) async throws -> Int {
        guard !published.isEmpty else { return 0 }
        return try await pool.run { session in
            let rows = try session.execute(
                Self.countingLacking,
                [
                    .identifiers(published.lazy.map(\.id)), .int4Array(published.map(\.revision)),
                    .boolArray(published.map { $0.subject == .subscription }),
                ])
            return Int(rows.int8(0, try rows.column("lacking")) ?? 0)
        }
    }

    public func makeDue(lacking published: [PublishedRevision]) async throws -> Int {
        guard !published.isEmpty else { return 0 }
        return try await pool.run { session in
            try session.execute(
                Self.makingDue, [.identifiers(published.lazy.map(\.id)), .int4Array(published.map(\.revision))]
            ).count
        }
    }
}
