import EmbeddedPostgres
import Foundation
import Postgres
import Synchronization
import Testing

/// The tests freeze a backend by SIGSTOP. The backend then neither answers nor ends, and the connection stays open.
@Suite("PostgreSQL sessions that hang", .timeLimit(.minutes(2)))
struct HungServerTests {
    private static func pool(
        _ uri: String, size: Int = 1, hung: @escaping @Sendable (HungSession) -> Void = { _ in }
    ) -> PostgresPool {
        PostgresPool(
            configuration: PostgresConfiguration(
                uri: uri, applicationName: "tests", statementTimeoutSeconds: 1, connectTimeoutSeconds: 1,
                answerMarginSeconds: 1, commitSeconds: 2),
            size: size, hung: hung)
    }

    @Test(
        "if a statement hangs, the pool gives up the session at the deadline, and PostgreSQL undoes the SQL transaction"
    )
    func statement() async throws {
        let database = try TestDatabase()
        let other = TestDatabase.pool(database.uri)
        try await other.run { try $0.run(script: "CREATE TABLE t (n int PRIMARY KEY)") }
        let frozen = Atomic<Int32>(0)
        let pool = Self.pool(database.uri) { frozen.store($0.processID, ordering: .sequentiallyConsistent) }
        let error = try await TestDatabase.failure(of: pool) { session in
            try session.transaction { session in
                try session.run(script: "INSERT INTO t VALUES (1)")
                kill(pid_t(try session.ownProcessID()), SIGSTOP)
                try session.run(script: "INSERT INTO t VALUES (2)")
            }
        }
        #expect(error.kind == .connection && error.isHung)
        // The next job has another session.
        let next = try await pool.run { try $0.ownProcessID() }
        let left = frozen.load(ordering: .sequentiallyConsistent)
        #expect(left != 0 && next != Int64(left))
        kill(left, SIGCONT)
        let isThere = PostgresStatement("SELECT count(*) FROM pg_stat_activity WHERE pid = $1")
        while try await other.run({ try $0.execute(isThere, [.int4(left)]).int8(0, 0) }) != 0 {
            // Each job lets the pool check whether it can close the abandoned session.
            try await pool.run { _ = try $0.ownProcessID() }
        }
        #expect(try await other.run { try $0.execute(PostgresStatement("SELECT count(*) FROM t")).int8(0, 0) } == 0)
        await pool.close()
    }

    @Test("if a COMMIT hangs, the pool reports the outcome as unknown, and PostgreSQL may still commit later")
    func commit() async throws {
        let database = try TestDatabase()
        let other = TestDatabase.pool(database.uri)
        try await other.run { try $0.run(script: "CREATE TABLE t (n int PRIMARY KEY)") }
        let frozen = Atomic<Int32>(0)
        let pool = Self.pool(database.uri) { hung in
            #expect(hung.wasCommitting)
            frozen.store(hung.processID, ordering: .sequentiallyConsistent)
        }
        let error = try await TestDatabase.failure(of: pool) { session in
            try session.transaction { session in
                try session.run(script: "INSERT INTO t VALUES (1)")
                kill(pid_t(try session.ownProcessID()), SIGSTOP)
            }
        }
        #expect(error.kind == .commitOutcomeUnknown && error.isHung)
        let count = PostgresStatement("SELECT count(*) FROM t")
        #expect(try await pool.run { try $0.execute(count).int8(0, 0) } == 0)
        kill(frozen.load(ordering: .sequentiallyConsistent), SIGCONT)
        while try await other.run({ try $0.execute(count).int8(0, 0) }) == 0 {}
        await pool.close()
    }

    @Test("a PostgreSQL pool abandons eight hung sessions, and waits for the ninth until the pool is interrupted")
    func bounded() async throws {
        let database = try TestDatabase()
        let (told, tells) = AsyncStream.makeStream(of: HungSession.self)
        let pool = Self.pool(database.uri, size: 9) { tells.yield($0) }
        let processes = Processes()
        defer { processes.wake() }
        let errors = try await withThrowingTaskGroup(of: PostgresError?.self) { group in
            for _ in 0..<9 {
                group.addTask {
                    do {
                        try await pool.run { session in
                            let process = pid_t(try session.ownProcessID())
                            processes.freeze(process)
                            try session.run(script: "SELECT 1")
                        }
                        return nil
                    } catch let error as PostgresError {
                        return error
                    }
                }
            }
            for await hung in told where hung.isLast { break }
            pool.interrupt()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(errors.count { $0?.isHung == true } == 8)
        #expect(errors.count { $0?.kind == .connection && $0?.isHung == false } == 1)
        #expect(try await TestDatabase.failure(of: pool) { _ = try $0.ownProcessID() }.kind == .connection)
        await pool.close()
    }

    @Test("if a PostgreSQL server accepts a connection and sends nothing, the pool tries the URI's next host")
    func connecting() async throws {
        let server = try EmbeddedPostgres.start(durable: false)
        let database = try TestDatabase()
        let process = server.processID
        kill(process, SIGSTOP)
        defer {
            kill(process, SIGCONT)
            server.stop()
        }
        let silent = Self.pool(server.uri)
        let error = try await TestDatabase.failure(of: silent) { try $0.run(script: "SELECT 1") }
        #expect(error.kind == .connection && error.message.contains("no answer in 1 s (127.0.0.1, port \(server.port)"))
        await silent.close()
        let port = try #require(database.uri.firstMatch(of: /:(\d+)\//)?.1)
        let both = Self.pool("postgresql://postgres@127.0.0.1:\(server.port),127.0.0.1:\(port)/postgres")
        #expect(try await both.run { try $0.execute(PostgresStatement("SELECT 1")).int4(0, 0) } == 1)
        await both.close()
    }

    @Test("PostgreSQL ends a slow statement at statement_timeout, and an SQL transaction may raise this limit")
    func slow() async throws {
        let pool = Self.pool(try TestDatabase().uri)
        let error = try await TestDatabase.failure(of: pool) { try $0.run(script: "SELECT pg_sleep(60)") }
        #expect(error.sqlState == "57014" && !error.isHung)
        try await pool.run { session in
            try session.transaction { session in
                try session.run(script: "SET LOCAL statement_timeout = '1min'")
                try session.run(script: "SELECT pg_sleep(2.5)")
            }
        }
        await pool.close()
    }

    @Test("a session sends a parameter of 20 MiB to PostgreSQL, and reads the same 20 MiB back")
    func large() async throws {
        let database = try TestDatabase()
        let bytes = [UInt8](repeating: 7, count: 20 << 20)
        let echoed = try await database.pool.run { session in
            try session.execute(PostgresStatement("SELECT $1::bytea"), [.bytea(bytes)]).bytes(0, 0)
        }
        #expect(echoed == bytes)
    }
}

/// Backends that stay frozen until the test wakes them.
private final class Processes: Sendable {
    private let all = Mutex<[pid_t]>([])

    func freeze(_ process: pid_t) {
        all.withLock { $0.append(process) }
        kill(process, SIGSTOP)
    }

    func wake() { for process in all.withLock({ $0 }) { kill(process, SIGCONT) } }
}
