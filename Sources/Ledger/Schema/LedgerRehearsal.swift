import NamesAndTimes
import Postgres

/// Finds statements that a worker could not run in this database, because its role lacks a right, or a table or column
/// is missing.
///
/// It prepares and plans each statement of a worker, up to the server's check of rights. Then it writes a grant, a
/// hold, a revocation and a parked submission. All of this is in one SQL transaction that is rolled back, and blocks no
/// session.
public enum LedgerRehearsal {
    public struct Fault: Sendable, Equatable {
        /// The purpose of the statement.
        public let work: String
        public let sqlState: String
        public let message: String
    }

    struct Work: Sendable {
        let name: String
        let statements: [String]

        init(_ name: String, _ files: [[UInt8]], and more: [PostgresStatement] = []) {
            self.name = name
            statements = files.map(LedgerSQL.text) + more.map(\.sql)
        }
    }

    /// Returns the first fault of each statement. Throws a `PostgresError` if PostgreSQL cannot be reached.
    public static func run(in session: PostgresSession) throws -> [Fault] {
        var faults: [Fault] = []
        do {
            try session.transaction { session in
                for work in worker {
                    for statement in work.statements {
                        guard let fault = try rehearse(statement, in: session) else { continue }
                        let named = Fault(
                            work: work.name, sqlState: fault.sqlState ?? "", message: fault.message)
                        if !faults.contains(named) { faults.append(named) }
                    }
                }
                // Missing rights are reported first.
                if faults.isEmpty { faults = try rehearseWriting(in: session) }
                throw RolledBack()
            }
        } catch is RolledBack {}
        return faults
    }

    private struct RolledBack: Error {}

    private static func rehearseWriting(in session: PostgresSession) throws -> [Fault] {
        var faults: [Fault] = []
        for writing in writings(at: WallClock.now) {
            try session.run(script: "SAVEPOINT rehearsal")
            do {
                try writing.run(session)
                try session.run(script: "RELEASE SAVEPOINT rehearsal")
            } catch {
                let failure = PostgresError(caught: error)
                guard failure.kind != .connection else { throw failure }
                faults.append(Fault(work: writing.work, sqlState: failure.sqlState ?? "", message: failure.message))
                try session.run(script: "ROLLBACK TO SAVEPOINT rehearsal; RELEASE SAVEPOINT rehearsal")
            }
        }
        return faults
    }

    /// Returns the error with which PostgreSQL refuses the statement; nil if it accepts the statement.
    private static func rehearse(_ sql: String, in session: PostgresSession) throws -> PostgresError? {
        let count = parameters(in: sql)
        let nulls = count == 0 ? "" : "(" + Array(repeating: "NULL", count: count).joined(separator: ", ") + ")"
        do {
            try session.run(
                script: """
                    SAVEPOINT rehearsal;
                    PREPARE rehearsal AS \(sql.trimmingTail);
                    EXPLAIN (COSTS OFF) EXECUTE rehearsal\(nulls);
                    DEALLOCATE rehearsal;
                    RELEASE SAVEPOINT rehearsal
                    """)
            return nil
        } catch {
            guard error.kind != .connection else { throw error }
            try session.run(script: "ROLLBACK TO SAVEPOINT rehearsal; RELEASE SAVEPOINT rehearsal")
            // A rollback keeps prepared statements.
            try session.run(script: "SAVEPOINT rehearsal")
            do { try session.run(script: "DEALLOCATE rehearsal; RELEASE SAVEPOINT rehearsal") } catch {
                guard error.kind != .connection else { throw error }
                try session.run(script: "ROLLBACK TO SAVEPOINT rehearsal; RELEASE SAVEPOINT rehearsal")
            }
            // All parameters are NULL here. If a statement fails only because of a NULL, the database has no fault.
            return error.kind == .data ? nil : error
        }
    }

    /// Returns the number of parameters: the highest `$n`.
    static func parameters(in sql: String) -> Int {
        // The SQL's comments must not name a parameter that the statement lacks.
        sql.matches(of: /\$([0-9]+)/).compactMap { Int($0.output.1) }.max() ?? 0
    }
}

extension String {
    /// The text without a semicolon and white space at its end.
    fileprivate var trimmingTail: String {
        String(reversed().drop { $0 == ";" || $0.isWhitespace }.reversed())
    }
}
