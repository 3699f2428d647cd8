import Foundation
import Postgres
import Testing

@Suite("A PostgreSQL session")
struct SessionTests {
    @Test(
        "each SQL transaction has the isolation level read committed, whatever the database's default is",
        arguments: [true, false])
    func isolation(prepared: Bool) async throws {
        let database = try TestDatabase(preparedStatements: prepared)
        try await TestDatabase.pool(database.uri).run { session in
            try session.run(
                script: """
                    DO $$ BEGIN
                        EXECUTE format(
                            'ALTER DATABASE %I SET default_transaction_isolation = serializable', current_database());
                    END $$
                    """)
        }
        let show = PostgresStatement("SELECT current_setting('transaction_isolation')")
        let levels = try await database.pool.run { session in
            let inside = try session.transaction { try $0.execute(show).text(0, 0) }
            return [inside, try session.execute(show).text(0, 0)]
        }
        // Without prepared statements, as behind a pooler, receiptd sets nothing for the session. Outside an SQL
        // transaction the database's default then applies.
        #expect(levels == ["read committed", prepared ? "read committed" : "serializable"])
    }

    @Test(
        "a PostgreSQL session has the configured timeouts, UTF-8, and the application name of the URI",
        arguments: [true, false])
    func setUp(prepared: Bool) async throws {
        let database = try TestDatabase(preparedStatements: prepared)
        let show = PostgresStatement(
            "SELECT current_setting($1), current_setting('application_name'), current_setting('client_encoding')")
        for name in ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"] {
            let value = try await database.pool.run { session in
                try session.transaction { try $0.execute(show, [.text(name)]).text(0, 0) }
            }
            #expect(value == ["statement_timeout": "30s", "lock_timeout": "10s"][name, default: "1min"])
        }
        let pool = TestDatabase.pool(database.uri + "?application_name=from-uri&client_encoding=LATIN1")
        try await pool.run { session in
            let rows = try session.execute(show, [.text("statement_timeout")])
            #expect(rows.text(0, 1) == "from-uri")
            #expect(rows.text(0, 2) == "UTF8")
        }
    }

    @Test(
        "if the URI sets synchronous_commit to off, the PostgreSQL session sets it to local",
        arguments: [true, false], ["off", "on"])
    func waitsForDisk(preparedStatements: Bool, given: String) async throws {
        let database = try TestDatabase()
        let separator = database.uri.contains("?") ? "&" : "?"
        let uri = database.uri + separator + "options=-csynchronous_commit%3D\(given)"
        let pool = TestDatabase.pool(uri, preparedStatements: preparedStatements)
        let reading = PostgresStatement("SELECT current_setting('synchronous_commit')")
        let found = try await pool.run { session in
            try session.transaction { try $0.execute(reading).text(0, 0) }
        }
        #expect(found == (given == "off" ? "local" : "on"))
        await pool.close()
    }

    @Test("a PostgreSQL session commits an SQL transaction, and rolls it back if the transaction's closure throws")
    func transactions() async throws {
        struct Stop: Error {}
        let database = try TestDatabase()
        try await database.pool.run { try $0.run(script: "CREATE TABLE t (n int)") }
        try await database.pool.run { try $0.transaction { try $0.run(script: "INSERT INTO t VALUES (1)") } }
        await #expect(throws: Stop.self) {
            try await database.pool.run { session in
                try session.transaction { session in
                    try session.run(script: "INSERT INTO t VALUES (2)")
                    throw Stop()
                }
            }
        }
        let sum = try await database.pool.run { try $0.execute(PostgresStatement("SELECT sum(n) FROM t")).int8(0, 0) }
        #expect(sum == 1)
    }

    @Test("an SQL transaction includes its first statement, prepared or not, and is rolled back if a statement fails")
    func firstStatement() async throws {
        struct Stop: Error {}
        let database = try TestDatabase()
        let inserting = PostgresStatement("INSERT INTO t SELECT 12 / $1::int4 RETURNING n")
        let level = PostgresStatement("SELECT current_setting('transaction_isolation'), now() = statement_timestamp()")
        try await database.pool.run { session in
            try session.run(script: "CREATE TABLE t (n int)")
            for divisor: Int32 in [1, 2, 3] {
                try session.transaction { session in
                    #expect(try session.execute(inserting, [.int4(divisor)]).int4(0, 0) == Int64(12 / divisor))
                    let rows = try session.execute(level)
                    #expect(rows.text(0, 0) == "read committed")
                    #expect(rows.bool(0, 1) == false, "both statements are in one transaction")
                }
            }
            let error = #expect(throws: PostgresError.self) {
                try session.transaction { try $0.execute(inserting, [.int4(0)]) }
            }
            #expect(error?.kind == .data)
            #expect(throws: Stop.self) {
                try session.transaction { session in
                    try session.execute(inserting, [.int4(4)])
                    throw Stop()
                }
            }
            // These two transactions send no statement.
            try session.transaction { _ in }
            #expect(throws: Stop.self) { try session.transaction { _ in throw Stop() } }
            let sum = try session.execute(PostgresStatement("SELECT sum(n), count(*) FROM t"))
            #expect(sum.int8(0, 0) == 22 && sum.int8(0, 1) == 3)
        }
    }

    @Test("several statements sent at once in an SQL transaction return their rows, and are rolled back if one fails")
    func firstStatements() async throws {
        let database = try TestDatabase()
        let inserting = PostgresStatement("INSERT INTO t SELECT 12 / $1::int4 RETURNING n")
        let counting = PostgresStatement("SELECT count(*) FROM t WHERE n >= $1::int4")
        @Sendable func calls(_ divisor: Int32) -> [PostgresCall] {
            [PostgresCall(inserting, [.int4(divisor)]), PostgresCall(counting, [.int4(0)])]
        }
        try await database.pool.run { session in
            try session.run(script: "CREATE TABLE t (n int)")
            for (number, divisor) in [Int32(1), 2, 3].enumerated() {
                try session.transaction { session in
                    let rows = try session.execute(calls(divisor))
                    #expect(rows.map(\.count) == [1, 1])
                    #expect(rows[0].int4(0, 0) == Int64(12 / divisor))
                    #expect(rows[1].int8(0, 0) == Int64(number + 1))
                    #expect(try session.execute([]).isEmpty)
                }
            }
            for failing in [calls(0), calls(1) + calls(0), calls(0) + calls(1)] {
                let error = #expect(throws: PostgresError.self) {
                    try session.transaction { try $0.execute(failing) }
                }
                #expect(error?.sqlState == "22012")
            }
            // The server has lost one of the statements, and the session prepares this statement again.
            for (number, lost) in [counting, inserting].enumerated() {
                try session.run(script: "DEALLOCATE \(lost.name)")
                let error = #expect(throws: PostgresError.self) {
                    try session.transaction { try $0.execute(calls(1)) }
                }
                #expect(error?.kind == .retriable)
                #expect(try session.transaction { try $0.execute(calls(1))[1].int8(0, 0) } == Int64(number + 4))
            }
            #expect(try session.execute(calls(1))[1].int8(0, 0) == 6, "also outside of a transaction")
        }
    }

    @Test("if an SQL transaction's closure ignores a failed statement, `transaction` throws, and reports no commit")
    func doomedTransaction() async throws {
        let database = try TestDatabase()
        let error = try await database.failure { session in
            try session.transaction { session in
                do { try session.run(script: "SELECT 1/0") } catch { #expect((error as? PostgresError)?.kind == .data) }
            }
        }
        #expect(error.sqlState == "25P02" && error.kind == .other)
        #expect(try await database.pool.run { try $0.execute(processID).count } == 1)
    }

    @Test("if a job leaves an SQL transaction open, the pool rolls it back before the session's next job")
    func leftOpen() async throws {
        let database = try TestDatabase()
        let status = PostgresStatement("SELECT pg_current_xact_id_if_assigned() IS NULL, to_regclass('t') IS NULL")
        try await database.pool.run { try $0.run(script: "BEGIN; CREATE TABLE t ()") }
        try await database.pool.run { session in
            let rows = try session.execute(status)
            #expect(rows.bool(0, 0) == true && rows.bool(0, 1) == true)
        }
    }

    @Test("a COPY stores rows whose bytes the source has split over several chunks")
    func copyIn() async throws {
        let database = try TestDatabase()
        let (copied, found) = try await database.pool.run { session in
            try session.run(script: "CREATE TABLE t (n int, s text)")
            var chunks = ["1\ton", "e\n2\t", "zwö\n", ""].makeIterator()
            let copied = try session.copyIn("COPY t FROM STDIN") { chunks.next().map { Array($0.utf8) } }
            return (copied, try session.execute(PostgresStatement("SELECT s FROM t ORDER BY n")).text(1, 0))
        }
        #expect(copied == 2)
        #expect(found == "zwö")
    }

    @Test("if the source fails or a row is wrong, the session aborts the COPY; copyIn refuses a SELECT")
    func failedCopy() async throws {
        struct Stop: Error {}
        let database = try TestDatabase()
        try await database.pool.run { try $0.run(script: "CREATE TABLE t (n int)") }
        await #expect(throws: Stop.self) {
            try await database.pool.run { try $0.copyIn("COPY t FROM STDIN") { throw Stop() } }
        }
        let wrong = try await database.failure { session in
            var chunks = [Array("topsecret\n".utf8)].makeIterator()
            try session.copyIn("COPY t FROM STDIN") { chunks.next() }
        }
        #expect(wrong.kind == .data && !"\(wrong)".contains("topsecret"))
        let none = try await database.failure { try $0.copyIn("SELECT 1") { nil } }
        #expect(none.kind == .other)
        let unexpected = try await database.failure { try $0.run(script: "COPY t FROM STDIN") }
        #expect(unexpected.kind == .other)
        let count = try await database.pool.run {
            try $0.execute(PostgresStatement("SELECT count(*) FROM t")).int8(0, 0)
        }
        #expect(count == 0)
    }

    @Test("if the server lost a prepared statement, or its table changed, the session prepares the statement again")
    func prepareAgain() async throws {
        let database = try TestDatabase()
        try await database.pool.run { session in
            let statement = PostgresStatement("SELECT * FROM t")
            try session.run(script: "CREATE TABLE t AS SELECT 1 AS n")
            #expect(try session.execute(statement).int4(0, 0) == 1)
            try session.run(script: "DEALLOCATE ALL")
            #expect(try session.execute(statement).int4(0, 0) == 1)
            try session.run(script: "ALTER TABLE t ADD m int DEFAULT 2")
            #expect(try session.execute(statement).int4(0, 1) == 2)

            try session.run(script: "DEALLOCATE ALL")
            let lost = #expect(throws: PostgresError.self) {
                try session.transaction { try $0.execute(statement) }
            }
            #expect(lost?.kind == .retriable)
            #expect(try session.transaction { try $0.execute(statement).int4(0, 1) } == 2)
        }
    }

    @Test("if one statement of an SQL script fails, PostgreSQL undoes the script; a script with a NUL byte is refused")
    func scripts() async throws {
        let database = try TestDatabase()
        let missing = try await database.failure { try $0.run(script: "CREATE TABLE a (); SELECT nothing") }
        #expect(missing.sqlState == "42703" && missing.kind == .other)
        #expect(try await database.failure { try $0.run(script: "SELECT 1;\0 SELECT 2") }.kind == .data)
        let rolledBack = PostgresStatement("SELECT to_regclass('a') IS NULL")
        #expect(try await database.pool.run { try $0.execute(rolledBack).bool(0, 0) } == true)
    }

    @Test("an SQL statement that exceeds its timeout fails with a retriable error")
    func statementTimeout() async throws {
        let database = try TestDatabase()
        let error = try await database.failure { session in
            try session.run(script: "SET statement_timeout = '20ms'; SELECT pg_sleep(60)")
            try session.run(script: "SELECT pg_sleep(60)")
        }
        #expect(error.sqlState == "57014" && error.kind == .retriable)
    }
}
