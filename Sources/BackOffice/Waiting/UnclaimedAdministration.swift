import Fulfillment
import Ledger
import Postgres

/// Counts, lists and retries unclaimed purchases for an operator. Every function throws a `PostgresError`.
public struct UnclaimedAdministration: WaitingTable {
    package typealias Reason = UnclaimedReason
    package typealias Row = UnclaimedSummary

    package static let counting = LedgerSQL.statement(PackageResources.count_unclaimed_sql)
    package static let listing = LedgerSQL.statement(PackageResources.list_unclaimed_sql)
    private static let retrying = LedgerSQL.statement(PackageResources.retry_unclaimed_purchases_sql)
    package static var moreOfListing: [PostgresParameter] { [.int8(Int64(AccountTokenFacts.maximumSenders))] }
    private static let retriedAtATime = 1_000

    package let pool: PostgresPool

    public init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Makes purchases due for another try, even purchases that crashed workers. Leaves out purchases whose evidence is
    /// deleted, and rows that another session has locked. Returns the number of changed purchases. After a failure, the
    /// purchases changed so far stay due.
    /// - Parameter limit: the most purchases to change, the oldest first.
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

}
