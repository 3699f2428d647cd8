import Fulfillment
import Ledger
import NamesAndTimes
import Postgres

/// Lists the dead letters in the sample of recent local refusals. Every function throws a `PostgresError`.
public enum KeptDeadLetters {
    /// The most refusals that a search reads, newest first.
    private static let lookedThrough: Int64 = 20_000

    private static let listing = LedgerSQL.statement(PackageResources.list_kept_dead_letters_sql)

    /// Returns dead letters, the newest first. If a letter names no sender, its `submissionID` is the record's
    /// position, and its `playerID` is the record's key.
    /// - Parameters:
    ///   - reasons: the reasons to list. `malformed_submission` lists dead letters whose sender got an answer.
    ///   - player: the player; nil for any player.
    ///   - since: the earliest time of the record; nil for any time.
    public static func list(
        _ reasons: [String], player: String? = nil, since: Timestamp? = nil, limit: Int, in pool: PostgresPool
    ) async throws -> [LocalRefusal] {
        try await pool.run { session in
            let rows = try session.execute(
                listing,
                [
                    .textArray(reasons), .int8(Int64(limit)), .int8(lookedThrough), .text(player),
                    .timestamptz(since),
                ])
            let (event, place) = (try rows.column("event_id"), try rows.column("submission_id"))
            let (key, reason) = (try rows.column("player_id"), try rows.column("reason"))
            let (code, detail) = (try rows.column("detail_code"), try rows.column("detail"))
            let occurredAt = try rows.column("occurred_at")
            return (0..<rows.count).map { row in
                LocalRefusal(
                    eventID: rows.uuid(row, event)?.nameBased.description ?? "",
                    submissionID: rows.text(row, place) ?? "", playerID: rows.text(row, key) ?? "", bundleID: nil,
                    reason: rows.text(row, reason) ?? "", detailCode: rows.text(row, code) ?? "",
                    detail: rows.text(row, detail) ?? "", occurredAt: rows.timestamp(row, occurredAt)?.rfc3339 ?? "")
            }
        }
    }
}
