import Postgres

/// A session or a prepared transaction that prevents a change of a table, because it locks the table or reads an
/// earlier snapshot.
public struct LockHolder: Sendable, Equatable, CustomStringConvertible {
    /// The session's process id; nil for a prepared transaction.
    public let processID: Int32?
    public let application: String
    public let role: String
    /// A table that the session or the prepared transaction has locked; nil if it reads an earlier snapshot.
    public let table: String?
    /// The seconds since its SQL transaction started; nil if this role may not see the start.
    public let seconds: Double?

    public var description: String {
        let who = processID.map { "process \($0)" } ?? "a prepared transaction"
        let names = [application, role.isEmpty ? "" : "role \(role)"].filter { !$0.isEmpty }.joined(separator: ", ")
        let age = seconds.map { ", in a transaction for \(Int(max(0, $0.rounded()))) s" } ?? ""
        let what = table.map { "locks \($0)" } ?? "holds an earlier snapshot"
        return "\(who)\(names.isEmpty ? "" : " (\(names))") \(what)\(age)"
    }

    private static let finding = LedgerSQL.statement(PackageResources.find_lock_holders_sql)
    private static let findingSnapshots = LedgerSQL.statement(PackageResources.find_snapshot_holders_sql)

    /// Returns up to five lock holders, those with the oldest SQL transactions first.
    /// - Parameter seconds: the least age of their SQL transactions.
    static func find(_ tables: [String], olderThan seconds: Double, in session: PostgresSession) throws -> [LockHolder]
    {
        try read(try session.execute(finding, [.textArray(tables), .float8(seconds)]))
    }

    /// Returns up to five sessions that keep a snapshot and whose SQL transaction is at least `seconds` old, oldest
    /// first.
    static func findSnapshots(olderThan seconds: Double, in session: PostgresSession) throws -> [LockHolder] {
        try read(try session.execute(findingSnapshots, [.float8(seconds)]))
    }

    private static func read(_ rows: PostgresRows) throws -> [LockHolder] {
        let (process, application) = (try rows.column("pid"), try rows.column("application_name"))
        let (role, table, age) = (try rows.column("role"), try rows.column("table_name"), try rows.column("seconds"))
        return (0..<rows.count).map { row in
            LockHolder(
                processID: rows.int4(row, process).map { Int32(truncatingIfNeeded: $0) },
                application: InsertRefused.shown(rows.text(row, application) ?? ""),
                role: InsertRefused.shown(rows.text(row, role) ?? ""),
                table: rows.text(row, table).flatMap { $0.isEmpty ? nil : $0 }, seconds: rows.float8(row, age))
        }
    }
}

extension [LockHolder] {
    /// A text about the lock holders, for a log line or an operator.
    public var inWords: String {
        isEmpty ? "the sessions in the way have ended since" : map(\.description).joined(separator: "; ")
    }
}

extension PostgresError {
    /// True if the session did not get a lock in time (55P03), or a deadlock ended its SQL transaction (40P01).
    var isLockTrouble: Bool { sqlState == "55P03" || sqlState == "40P01" }
}
