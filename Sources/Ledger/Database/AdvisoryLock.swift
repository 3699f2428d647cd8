import Postgres

/// A lock for work that only one replica does at a time. It lasts until COMMIT or ROLLBACK, so it also works behind a
/// pooler.
enum AdvisoryLock: Int64 {
    // "rcpt" in ASCII, and a number. Another program in the database must not use the same numbers.
    case schema = 0x7263_7074_0001
    case catalog = 0x7263_7074_0002
    case retention = 0x7263_7074_0003

    private static let statement = PostgresStatement("SELECT pg_advisory_xact_lock($1)")
    private static let trying = PostgresStatement("SELECT pg_try_advisory_xact_lock($1) AS is_taken")

    /// Takes the lock inside an SQL transaction. Waits for other sessions as long as `lock_timeout` allows.
    func take(in session: PostgresSession) throws {
        try session.execute(Self.statement, [.int8(rawValue)])
    }

    /// Takes the lock inside an SQL transaction. Returns false if another session has it.
    func take(unlessTakenIn session: PostgresSession) throws -> Bool {
        let rows = try session.execute(Self.trying, [.int8(rawValue)])
        return rows.bool(0, try rows.column("is_taken")) ?? false
    }
}
