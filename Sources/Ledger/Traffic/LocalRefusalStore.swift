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

    private static let listing = LedgerSQL.statement(PackageResources.list_nameless_dead_letters_sql)
    private static let adding = LedgerSQL.statement(PackageResources.insert_local_refusals_sql)

    private let pool: PostgresPool

    public init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Dead letters that name no sender, the newest first. Their `submissionID` is their record's place, their `playerID` its key.
    /// - Parameter reasons: of a dead letter.
    public func namelessDeadLetters(_ reasons: [String], limit: Int) async throws -> [LocalRefusal] {
        try await pool.run { session in
            let rows = try session.execute(
                Self.listing, [.textArray(reasons), .int8(Int64(limit)), .int8(Self.lookedThrough)])
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
