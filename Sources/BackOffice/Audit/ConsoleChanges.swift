import Ledger
import NamesAndTimes
import Postgres

/// The changes with their operators, by the console or by commands whose changes are kept nowhere else. Every function
/// throws a `PostgresError`.
public struct ConsoleChanges: Sendable {
    /// The changes that commands enter: the console's own word if the console makes the same change.
    public enum Command: String, Sendable {
        case retry
        case rejectParked = "reject-parked"
        case retryUnclaimed = "retry-unclaimed"
        case redriveDeadLetters = "redrive-dead-letters"
    }

    public struct Change: Sendable, Equatable {
        public let id: Int64
        public let operatorName: String
        public let change: String
        /// An id, or the filter.
        public let subject: String
        public let note: String?
        /// The number that the operator was shown.
        public let shown: Int
        public let beganAt: Timestamp
        /// Nil where the console has not come to its end, or died on the way.
        public let result: String?
    }

    private static let inserting = LedgerSQL.statement(PackageResources.insert_console_change_sql)
    private static let updating = LedgerSQL.statement(PackageResources.update_console_change_sql)
    private static let listing = LedgerSQL.statement(PackageResources.list_console_changes_sql)

    private let pool: PostgresPool

    public init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Before it is done, so that whatever is done is known.
    public func begin(
        _ change: String, of subject: String, shown: Int, by operatorName: String, note: String?
    ) async throws -> Int64 {
        try await pool.run { session in
            let rows = try session.execute(
                Self.inserting,
                [.text(operatorName), .text(change), .text(subject), .text(note), .int8(Int64(shown))])
            return rows.int8(0, try rows.column("id")) ?? 0
        }
    }

    public func end(_ id: Int64, result: String) async throws {
        _ = try await pool.run { try $0.execute(Self.updating, [.int8(id), .text(result)]).affectedRows }
    }

    /// Enters a change, makes it, and ends it with what came of it. Throws what `make` throws, too.
    /// - Parameter tell: what came of it, in words.
    /// - Returns: the entry's id, and what was made.
    public func record<Made>(
        _ change: String, of subject: String, shown: Int, by operatorName: String, note: String? = nil,
        telling tell: (Made) -> String = { "\($0)" }, making make: () async throws -> Made
    ) async throws -> (entry: Int64, made: Made) {
        let entry = try await begin(change, of: subject, shown: shown, by: operatorName, note: note)
        let made: Made
        do {
            made = try await make()
        } catch {
            // Where the database is away, the entry stays without an end.
            try? await end(entry, result: "failed before its end; what it did before stays")
            throw error
        }
        try await end(entry, result: tell(made))
        return (entry, made)
    }

    /// The same of a command.
    public func record<Made>(
        _ change: Command, of subject: String, shown: Int, by operatorName: String,
        telling tell: (Made) -> String = { "\($0)" }, making make: () async throws -> Made
    ) async throws -> Made {
        try await record(
            change.rawValue, of: subject, shown: shown, by: operatorName, telling: tell, making: make
        ).made
    }

    /// The subject of a change without an id, for people and for the entry.
    /// - Parameter more: further words of what it is.
    public static func subject(bundleID: String?, reason: String?, _ more: [String?] = []) -> String {
        let parts = ([bundleID.map { "app \($0)" }, reason.map { "reason \($0)" }] + more).compactMap(\.self)
        return parts.isEmpty ? "all" : parts.joined(separator: ", ")
    }

    /// The newest first.
    public func list(limit: Int, skipping: Int) async throws -> [Change] {
        try await pool.run { session in
            let rows = try session.execute(Self.listing, [.int8(Int64(limit)), .int8(Int64(skipping))])
            let (id, name) = (try rows.column("id"), try rows.column("operator"))
            let (change, subject) = (try rows.column("change"), try rows.column("subject"))
            let (note, shown) = (try rows.column("note"), try rows.column("shown"))
            let (beganAt, result) = (try rows.column("began_at"), try rows.column("result"))
            return (0..<rows.count).compactMap { row in
                guard let began = rows.timestamp(row, beganAt) else { return nil }
                return Change(
                    id: rows.int8(row, id) ?? 0, operatorName: rows.text(row, name) ?? "",
                    change: rows.text(row, change) ?? "", subject: rows.text(row, subject) ?? "",
                    note: rows.text(row, note), shown: Int(rows.int8(row, shown) ?? 0), beganAt: began,
                    result: rows.text(row, result))
            }
        }
    }
}
