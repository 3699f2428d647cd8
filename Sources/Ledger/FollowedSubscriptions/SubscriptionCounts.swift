import Fulfillment
import Postgres

/// The numbers of followed subscriptions in each state, and of overdue checks, for metrics.
public struct SubscriptionCounts: Sendable, Equatable {
    /// The seconds after which a due check counts as overdue.
    static let overdueSeconds = 3600.0

    /// The count of each state, up to `LedgerCounts.maximum`; 0 for a state without subscriptions. Empty if states were
    /// not counted.
    public let states: [SubscriptionState: Int]
    public let overdue: Int

    private static let statement = LedgerSQL.statement(PackageResources.count_subscriptions_sql)

    /// Throws a `PostgresError`.
    /// - Parameters:
    ///   - followed: the apps whose subscriptions receiptd checks with Apple.
    ///   - countsStates: whether to count states, which costs more than counting overdue checks.
    public static func read(
        followed: [BundleID], countsStates: Bool, from pool: PostgresPool
    ) async throws -> SubscriptionCounts {
        try await pool.run { session in
            let rows = try session.execute(
                statement,
                [
                    .int8(countsStates ? LedgerCounts.maximum : 0), .identifiers(followed.sorted()),
                    .float8(overdueSeconds), .int8(LedgerCounts.maximum),
                ])
            let (state, count) = (try rows.column("state"), try rows.column("count"))
            var states: [SubscriptionState: Int] = [:]
            var overdue = 0
            for row in 0..<rows.count {
                let counted = Int(rows.int8(row, count) ?? 0)
                if let name = rows.text(row, state) {
                    if let state = SubscriptionState(rawValue: name) { states[state] = counted }
                } else {
                    overdue = counted
                }
            }
            return SubscriptionCounts(states: states, overdue: overdue)
        }
    }
}
