import Ledger
import NamesAndTimes
import Postgres

/// The log of operators' changes in the console. It also has each change that a `receiptd` command made and that no
/// other table records.
/// Every function throws a `PostgresError`.
public struct ConsoleChanges: Sendable {
    /// The changes by commands. If the console can make the same change, it logs the change under the same name.
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
        /// The changed id, or the filter that chose the changed rows, in words.
        public let subject: String
        public let note: String?
        /// The number of rows that the operator saw and confirmed.
        public let shown: Int
        public let beganAt: Timestamp
        /// The change's result, in words. Nil while the change is under way, or if the process died before the change
        /// ended.
        public let result: String?
    }

    private static let inserting = LedgerSQL.statement(PackageResources.insert_console_change_sql)
    private static let updating = LedgerSQL.statement(PackageResources.update_console_change_sql)
    private static let listing = LedgerSQL.statement(PackageResources.list_console_changes_sql)

    private let pool: PostgresPool

    public init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Logs a change before it is made, so that the log lacks no change. Returns the entry's id.
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

    /// Logs a change, makes it, and logs its result. Rethrows the error of `make`.
    /// - Parameters:
    ///   - tell: returns the result in words.
    ///   - make: makes the change.
    /// - Returns: the entry's id, and the value of `make`.
    public func record<Made>(
        _ change: String, of subject: String, shown: Int, by operatorName: String, note: String? = nil,
        telling tell: (Made) -> String = { "\($0)" }, making make: () async throws -> Made
    ) async throws -> (entry: Int64, made: Made) {
        let entry = try await begin(change, of: subject, shown: shown, by: operatorName, note: note)
        let made: Made
        do {
            made = try await make()
        } catch {
            // If the database cannot be reached, the entry stays without a result.
            try? await end(entry, result: "failed before the end; rows changed by then stay changed")
            throw error
        }
        try await end(entry, result: tell(made))
        return (entry, made)
    }

    /// Logs and makes a change by a command. Returns the value of `make`.
    public func record<Made>(
        _ change: Command, of subject: String, shown: Int, by operatorName: String,
        telling tell: (Made) -> String = { "\($0)" }, making make: () async throws -> Made
    ) async throws -> Made {
        try await record(
            change.rawValue, of: subject, shown: shown, by: operatorName, telling: tell, making: make
        ).made
    }

    /// Describes in words the filter that chose rows, for people and for the log.
    /// - Parameter more: further conditions in words; nil is left out.
    public static func subject(bundleID: String?, reason: String?, _ more: [String?] = []) -> String {
        let parts = ([bundleID.map { "app \($0)" }, reason.map { "reason \($0)" }] + more).compactMap(\.self)
        return parts.isEmpty ? "all" : parts.joined(separator: ", ")
    }

    /// Returns changes, the newest first.
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
