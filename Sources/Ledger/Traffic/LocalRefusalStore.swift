import Fulfillment
import NamesAndTimes
import Postgres

/// Recent rejections that asked nobody, by submission and player, for `inspect` and the console. Every function throws a
/// `PostgresError`.
public struct LocalRefusalStore: Sendable {
    /// Days for which they are kept, besides today.
    static let days: Int32 = 3

    /// A search looks through so many of the newest refusals.
    private static let lookedThrough: Int64 = 20_000

    private static let listing = LedgerSQL.statement(PackageResources.list_kept_dead_letters_sql)
    private static let adding = LedgerSQL.statement(PackageResources.insert_local_refusals_sql)

    private let pool: PostgresPool

    public init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Dead letters, the newest first. Where they name no sender, their `submissionID` is their record's place, and their `playerID`
    /// its key.
    /// - Parameters:
    ///   - reasons: of a dead letter, or `malformed_submission` for those whose sender was answered.
    ///   - player: nil: of any.
    ///   - since: the earliest time of the record; nil: any.
    public func deadLetters(
        _ reasons: [String], player: String? = nil, since: Timestamp? = nil, limit: Int
    ) async throws -> [LocalRefusal] {
        try await pool.run { session in
            let rows = try session.execute(
                Self.listing,
                [
                    .textArray(reasons), .int8(Int64(limit)), .int8(Self.lookedThrough), .text(player),
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

    /// Each is kept once, however often it is given. Text that holds a NUL cannot be stored, and its refusal is left out whole.
    public func add(_ refusals: [LocalRefusal]) async throws {
        let told = refusals.filter(\.isStorable)
        guard !told.isEmpty else { return }
        let columns: [[String?]] = [
            told.map(\.eventID), told.map(\.submissionID), told.map(\.playerID), told.map(\.bundleID),
            told.map(\.reason), told.map(\.detailCode), told.map(\.detail), told.map(\.occurredAt),
        ]
        _ = try await pool.run { try $0.execute(Self.adding, columns.map { .textArray($0) }).affectedRows }
    }
}

extension LocalRefusal {
    fileprivate var isStorable: Bool {
        [submissionID, playerID, bundleID ?? "", detail].allSatisfy { !$0.utf8.contains(0) }
    }
}
