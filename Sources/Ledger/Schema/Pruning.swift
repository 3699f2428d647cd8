import Postgres

/// Deletes old rows of one table. One search by the index on their date finds many rows, and each statement deletes a
/// few thousand of them.
struct Pruning: Sendable {
    static let defaults = Pruning("outcomes_default", by: "decided_at", limit: startOfDay)
    static let apart = Pruning("outcomes_apart", by: "decided_at", limit: startOfDay)
    static let proofs = Pruning("proofs", by: "seen_on")
    static let replays = Pruning("replays", by: "day")
    static let notifications = Pruning("notifications", by: "taken_on")
    static let finishes = Pruning("finishes", by: "ended_on")
    static let refundRequests = Pruning("refund_requests", by: "taken_at", limit: startOfDay)
    static let undelivered = Pruning("undelivered", by: "decided_at", limit: startOfDay)
    static let consumptionReports = Pruning("consumption_reports", by: "told_at", limit: startOfDay)

    private static let startOfDay = "$1::date::timestamp AT TIME ZONE 'UTC'"
    static let subscriptionReceipts = Pruning("subscription_receipts", by: "over_on")
    static let unownedSubscriptions = Pruning("unowned_subscriptions", by: "period_began_at", limit: startOfDay)
    static let trafficMinutes = Pruning("traffic_minutes", by: "began_at", limit: startOfDay)
    static let localRefusals = Pruning("local_refusals", by: "kept_at", limit: startOfDay)
    static let trafficHours = Pruning("traffic_hours", by: "began_at", limit: startOfDay)

    let finding: PostgresStatement
    let deleting: PostgresStatement

    private init(_ table: String, by column: String, limit: String = "$1::date") {
        // One search serves many deletes, because a deleted row stays in the index during a backup.
        finding = PostgresStatement(
            "SELECT ctid::text AS place FROM \(table) WHERE \(column) < \(limit) ORDER BY \(column) LIMIT $2")
        // Since the search, another row may have taken the place (ctid), so the statement checks the date again.
        deleting = PostgresStatement(
            "DELETE FROM \(table) WHERE ctid = ANY ($2::text[]::tid[]) AND \(column) < \(limit)")
    }

    /// Returns the number of deleted rows. Each statement is an SQL transaction of its own, and the session goes back
    /// to the pool between two statements.
    /// - Parameter day: days since 1970; rows of this day and later are kept.
    func run(before day: Int32, in pool: PostgresPool) async throws -> Int {
        let limit = PostgresParameter.date(daysSinceUnixEpoch: day)
        var pruned = 0
        while true {
            let places = try await pool.run { session in
                let rows = try session.execute(finding, [limit, .int8(Int64(OutcomeRetention.foundAtATime))])
                let place = try rows.column("place")
                return (0..<rows.count).compactMap { rows.text($0, place) }
            }
            var deleted = 0
            var rest = places[...]
            while !rest.isEmpty {
                let some = Array(rest.prefix(OutcomeRetention.prunedAtATime))
                rest = rest.dropFirst(some.count)
                deleted += try await pool.run { try $0.execute(deleting, [limit, .textArray(some)]).affectedRows }
            }
            pruned += deleted
            // If no row was deleted, another process has deleted these rows.
            if places.count < OutcomeRetention.foundAtATime || deleted == 0 { return pruned }
        }
    }
}
