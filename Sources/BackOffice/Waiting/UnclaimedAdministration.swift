import Fulfillment
import Ledger
import NamesAndTimes
import Postgres

/// An announced purchase that is nobody's, as an operator sees it.
public struct UnclaimedSummary: Sendable, Equatable {
    public let transactionID: String
    public let originalTransactionID: String
    public let bundleID: String
    public let productID: String
    public let environment: String
    public let source: String
    public let submissionID: String
    public let isRenewal: Bool
    /// Nil where Apple's time cannot be read.
    public let purchasedAt: Timestamp?
    public let expiresAt: Timestamp?
    public let toldAt: Timestamp
    public let reason: String
    /// Whether it has an account token that is still known.
    public let hasToken: Bool
    /// The player that the token was learnt as: a hint, no proof.
    public let learntOf: String?
    /// Enough is kept to look at it again.
    public let isRetriable: Bool
}

/// Purchases that nobody submitted, for an operator. Every function throws a `PostgresError`.
public struct UnclaimedAdministration: Sendable {
    public struct Count: Sendable, Equatable {
        public let all: Int
        /// The number that has enough data for another look.
        public let retriable: Int
        /// The same for the same retriable ones only, as good as certainly.
        public let digest: String
    }

    private static let counting = LedgerSQL.statement(PackageResources.count_unclaimed_sql)
    private static let listing = LedgerSQL.statement(PackageResources.list_unclaimed_sql)
    private static let retrying = LedgerSQL.statement(PackageResources.retry_unclaimed_purchases_sql)
    /// Made due by one statement.
    private static let retriedAtATime = 1_000

    private let pool: PostgresPool

    public init(pool: PostgresPool) {
        self.pool = pool
    }

    public func count(_ filter: UnclaimedFilter) async throws -> Count {
        try await pool.run { session in
            let rows = try session.execute(Self.counting, filter.parameters)
            let (all, retriable) = (try rows.column("unclaimed"), try rows.column("retriable"))
            return Count(
                all: Int(rows.int8(0, all) ?? 0), retriable: Int(rows.int8(0, retriable) ?? 0),
                digest: rows.text(0, try rows.column("digests")) ?? "")
        }
    }

    /// Has workers look at them again, also at what killed some, but for those of which nothing is kept any more or that
    /// somebody decides now. Returns how many. Where it fails on the way, those before are due, and the same again does the
    /// rest.
    /// - Parameter limit: of how many, the oldest first.
    public func retry(_ filter: UnclaimedFilter, limit: Int) async throws -> Int {
        var retried = 0
        while retried < limit {
            let count = min(limit - retried, Self.retriedAtATime)
            let due = try await pool.run { session in
                try session.execute(Self.retrying, filter.parameters + [.int8(Int64(count))]).affectedRows
            }
            retried += due
            if due < count { break }
        }
        return retried
    }

    /// Oldest first.
    /// - Parameter skipping: how many older ones are left out.
    public func list(_ filter: UnclaimedFilter, limit: Int, skipping: Int = 0) async throws -> [UnclaimedSummary] {
        try await pool.run { session in
            let rows = try session.execute(
                Self.listing,
                [.int8(Int64(limit)), .int8(Int64(skipping))] + filter.parameters + [
                    .int8(Int64(AccountTokenFacts.maximumSenders))
                ])
            return try UnclaimedSummary.all(rows)
        }
    }
}

extension UnclaimedSummary {
    private enum Column: String, CaseIterable {
        case transactionID, originalTransactionID, bundleID, productID, environment, source, submissionID, isRenewal
        case purchasedAt, expiresAt, storedAt, reason, hasToken, playerID, isRetriable
    }

    /// The rows of `list_unclaimed`.
    fileprivate static func all(_ rows: PostgresRows) throws(PostgresError) -> [UnclaimedSummary] {
        let columns = try rows.columns(Column.self)
        return (0..<rows.count).compactMap { row in
            guard let id = rows.text(row, columns[.transactionID]), let told = rows.timestamp(row, columns[.storedAt])
            else { return nil }
            return UnclaimedSummary(
                transactionID: id, originalTransactionID: rows.text(row, columns[.originalTransactionID]) ?? id,
                bundleID: rows.text(row, columns[.bundleID]) ?? "",
                productID: rows.text(row, columns[.productID]) ?? "",
                environment: rows.text(row, columns[.environment]) ?? "",
                source: rows.text(row, columns[.source]) ?? "",
                submissionID: rows.text(row, columns[.submissionID]) ?? "",
                isRenewal: rows.bool(row, columns[.isRenewal]) ?? false,
                purchasedAt: rows.purchaseTime(row, columns[.purchasedAt]),
                expiresAt: rows.timestamp(row, columns[.expiresAt]), toldAt: told,
                reason: rows.text(row, columns[.reason]) ?? "", hasToken: rows.bool(row, columns[.hasToken]) ?? false,
                learntOf: rows.text(row, columns[.playerID]),
                isRetriable: rows.bool(row, columns[.isRetriable]) ?? false)
        }
    }
}
