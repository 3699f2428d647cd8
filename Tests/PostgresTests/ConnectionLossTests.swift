import EmbeddedPostgres
import Foundation
import Postgres
import Testing

@Suite("PostgreSQL sessions that lose the connection", .timeLimit(.minutes(2)))
struct ConnectionLossTests {
    @Test(
        "if an idle connection to PostgreSQL ends, the pool replaces the connection, and the next job succeeds",
        arguments: [true, false])
    func whileIdle(prepared: Bool) async throws {
        let database = try TestDatabase(preparedStatements: prepared)
        let other = TestDatabase.pool(database.uri)
        for _ in 0..<5 {
            let first = try await database.pool.run { try $0.ownProcessID() }
            try await other.run { _ = try $0.execute(terminate, [.int4(Int32(first))]) }
            let second = try await database.pool.run { try $0.transaction { try $0.ownProcessID() } }
            #expect(first != second)
        }
    }

    @Test(
        "if an SQL transaction's first statement loses the connection, the session reconnects, and inserts the row once"
    )
    func withFirstStatement() async throws {
        let database = try TestDatabase()
        // The statement ends its own session the first time, after the pool has checked the idle connection.
        let inserting = PostgresStatement(
            "INSERT INTO t SELECT $1::int4 WHERE $1::int4 = 0 OR nextval('s') > 1 OR pg_terminate_backend(pg_backend_pid())"
        )
        try await database.pool.run { session in
            try session.run(script: "CREATE TABLE t (n int); CREATE SEQUENCE s")
            // This call prepares the statement, so a later call sends the statement together with BEGIN.
            try session.execute(inserting, [.int4(0)])
        }
        let before = try await database.pool.run { try $0.ownProcessID() }
        let after = try await database.pool.run { session in
            try session.transaction { session in
                try session.execute(inserting, [.int4(1)])
                return try session.ownProcessID()
            }
        }
        #expect(before != after)
        let rows = PostgresStatement("SELECT count(*), sum(n) FROM t")
        let found = try await database.pool.run { session in
            let rows = try session.execute(rows)
            return [rows.int8(0, 0), rows.int8(0, 1)]
        }
        #expect(found == [2, 1])
    }

    @Test("if an SQL transaction loses the connection, it fails, and does not continue on another connection")
    func duringTransaction() async throws {
        let database = try TestDatabase()
        let other = TestDatabase.pool(database.uri)
        try await other.run { try $0.run(script: "CREATE TABLE t (n int)") }
        let error = try await database.failure { session in
            try session.transaction { session in
                try session.run(script: "INSERT INTO t VALUES (1)")
                #expect(throws: PostgresError.self) {
                    try session.run(script: "SELECT pg_terminate_backend(pg_backend_pid())")
                }
                #expect(throws: PostgresError.self) { try session.run(script: "INSERT INTO t VALUES (2)") }
            }
        }
        #expect(error.kind == .connection, "COMMIT was not sent, so the outcome is known")
        let count = PostgresStatement("SELECT count(*) FROM t")
        #expect(try await database.pool.run { try $0.execute(count).int8(0, 0) } == 0)
    }

    @Test("if a COPY loses the connection, the COPY fails, and the next job has a new connection")
    func duringCopy() async throws {
        let database = try TestDatabase()
        let other = TestDatabase.pool(database.uri)
        try await other.run { try $0.run(script: "CREATE TABLE t (s text)") }
        let error = try await database.failure { session in
            let own = try session.ownProcessID()
            var killed = false
            try session.copyIn("COPY t FROM STDIN") {
                if killed { return nil }
                killed = true
                kill(pid_t(own), SIGTERM)
                return Array("row\n".utf8)
            }
        }
        #expect(error.kind == .connection)
        #expect(try await database.pool.run { try $0.execute(processID).count } == 1)
    }

    @Test("if a COMMIT loses the connection, the error says that the SQL transaction's outcome is unknown")
    func duringCommit() async throws {
        let database = try TestDatabase()
        try await database.pool.run { session in
            try session.run(
                script: """
                    CREATE TABLE t (n int);
                    CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS
                        'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END';
                    CREATE CONSTRAINT TRIGGER cut AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED
                        FOR EACH ROW EXECUTE FUNCTION cut();
                    """)
        }
        let error = try await database.failure { session in
            try session.transaction { try $0.run(script: "INSERT INTO t VALUES (1)") }
        }
        #expect(error.kind == .commitOutcomeUnknown && error.isRetriable)
        #expect(try await database.pool.run { try $0.execute(processID).count } == 1)
    }

    @Test("while PostgreSQL is down, most jobs fail without an attempt to connect; after a restart, jobs succeed again")
    func serverRestarts() async throws {
        let server = try EmbeddedPostgres.start(durable: false)
        defer { server.stop() }
        let pool = TestDatabase.pool(server.uri, size: 4)
        let select = PostgresStatement("SELECT 1")
        try await pool.run { try $0.run(script: "CREATE TABLE t AS SELECT 7 AS n") }
        try server.restart()
        #expect(try await pool.run { try $0.execute(PostgresStatement("SELECT n FROM t")).int4(0, 0) } == 7)

        server.stopServer(crashing: true)
        let clock = ContinuousClock()
        var untried = 0
        for _ in 0..<100 {
            let error = try await TestDatabase.failure(of: pool) { try $0.execute(select) }
            #expect(error.kind == .connection)
            if error.isRepeated { untried += 1 }
        }
        #expect(untried > 50, "most fail at once, without another attempt to connect")

        try server.startServer()
        let limit = clock.now + .seconds(30)
        var answer: Int64?
        while answer == nil, clock.now < limit {
            do {
                answer = try await pool.run { try $0.execute(select).int4(0, 0) }
            } catch let error as PostgresError {
                try #require(error.kind == .connection)
            }
        }
        #expect(answer == 1)
        await pool.close()
    }

    @Test(
        "if PostgreSQL refuses a write as read-only, the error counts as a lost connection, and the next write succeeds"
    )
    func readOnly() async throws {
        let database = try TestDatabase()
        let error = try await database.failure { session in
            try session.run(script: "SET default_transaction_read_only = on")
            try session.run(script: "CREATE TABLE t ()")
        }
        #expect(error.sqlState == "25006" && error.kind == .connection)
        try await database.pool.run { try $0.run(script: "CREATE TABLE t ()") }
    }
}
