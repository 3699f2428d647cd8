import Fulfillment
import Ledger
import Postgres
import TestSupport
import Testing

/// When a migrating process is killed, PostgreSQL ends its session at the current statement.
@Suite("A migration that is killed", .timeLimit(.minutes(5)))
struct InterruptedMigrationTests {
    /// Makes PostgreSQL end the session that runs DDL command number `number`. With 0, no session ends.
    private static func kill(at number: Int, in database: LedgerDatabase) async throws {
        try await database.run(
            """
            DROP EVENT TRIGGER IF EXISTS kill_migration;
            CREATE SCHEMA IF NOT EXISTS killing;
            CREATE SEQUENCE IF NOT EXISTS killing.commands;
            CREATE OR REPLACE FUNCTION killing.count_command() RETURNS event_trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF nextval('killing.commands') = \(number) THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
            END
            $$;
            CREATE EVENT TRIGGER kill_migration ON ddl_command_end EXECUTE FUNCTION killing.count_command();
            SELECT setval('killing.commands', 1, false)
            """)
    }

    @Test(
        "if a migration is killed, the schema version stays as it was, and the next migration completes",
        arguments: [true, false])
    func killed(fromVersion3: Bool) async throws {
        let database =
            fromVersion3 ? try await LedgerDatabase(schema: "3") : try await LedgerDatabase(isMigrated: false)
        let before = try await database.pool.run { try Schema.check($0) }
        for number in [1, 2, 7, 19, 43, 80] {
            try await Self.kill(at: number, in: database)
            let pool = LedgerDatabase.pool(database.uri, size: 1)
            let error = await #expect(throws: PostgresError.self) {
                try await pool.run { try Schema.migrate($0) }
            }
            #expect(error?.kind == .connection, "\(number)")
            await pool.close()
            #expect(try await database.pool.run { try Schema.check($0) } == before, "\(number)")
        }
        // The schema exists. The first day's partition does not exist.
        try await database.run("DROP EVENT TRIGGER kill_migration; DROP SCHEMA killing CASCADE")
        try await database.pool.run { try Schema.migrate($0) }
        #expect(try await database.pool.run { try Schema.check($0) } == .current)
        #expect(try await database.catalog() == LedgerDatabase().catalog())
    }

    @Test("if a migration is killed during an index build, the index is invalid, and the next migration rebuilds it")
    func killedBuilding() async throws {
        let database = try await LedgerDatabase()
        try await database.run(
            """
            DROP INDEX proofs_days;
            INSERT INTO proofs (proof, evidence, transaction_ids, seen_on)
            SELECT sha256(n::text::bytea), decode(repeat('ab', 100), 'hex'), ARRAY[n::text], '2026-01-01'
            FROM generate_series(1, 60000) AS n;
            UPDATE schema_version SET version = 4
            """)
        // The writer's lock blocks the build. A backup's transaction would not do: while a transaction with a snapshot
        // is older than a second, the migration begins no build.
        let writer = try await OpenTransaction(database, "LOCK TABLE proofs IN ROW EXCLUSIVE MODE")
        try await Task.sleep(for: .milliseconds(1100))
        let told = ToldLines()
        let pool = LedgerDatabase.pool(database.uri, size: 1)
        let migration = Task { try await pool.run { session in try Schema.migrate(session) { told.add($0) } } }
        #expect(await told.first()?.contains("proofs_days") == true)
        let waiting = """
            SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
            WHERE datname = current_database() AND query LIKE 'CREATE INDEX CONCURRENTLY%' AND wait_event_type = 'Lock'
            """
        try await eventually("the migration is ended") { try await database.number(waiting) > 0 }
        await #expect(throws: PostgresError.self) { try await migration.value }
        try await writer.finish()
        let valid = "SELECT count(*) FROM pg_index WHERE indexrelid = to_regclass('proofs_days') AND indisvalid"
        #expect(try await database.number(valid) == 0)
        try await database.pool.run { try Schema.migrate($0) }
        #expect(try await database.number(valid) == 1)
        #expect(try await database.pool.run { try Schema.check($0) } == .current)
        await pool.close()
    }

    @Test("while migrations are killed and repeated, no decision of a worker is lost or refused")
    func underLoad() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger(writers: 2, backlog: 1)
        try await database.run("DROP INDEX holds_kinds, parked_kinds; UPDATE schema_version SET version = 4")
        let isOver = ToldLines()
        async let decided = withThrowingTaskGroup(of: Int.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    var granted = 0
                    while isOver.all.isEmpty || granted < 20 {
                        let number = Int64(worker * 1_000_000 + granted)
                        let decision = Sample.decision(
                            [Sample.judged(Sample.purchase("\(number)"))], player: "p-\(worker)", offset: number)
                        guard try await ledger.record(decision).granted.count == 1 else { break }
                        granted += 1
                    }
                    return granted
                }
            }
            return try await group.reduce(0, +)
        }
        for number in [1, 12, 40] {
            try await Self.kill(at: number, in: database)
            let pool = LedgerDatabase.pool(database.uri, size: 1)
            await #expect(throws: PostgresError.self) { try await pool.run { try Schema.migrate($0) } }
            await pool.close()
        }
        try await database.run("DROP EVENT TRIGGER kill_migration; DROP SCHEMA killing CASCADE")
        try await database.pool.run { try Schema.migrate($0) }
        isOver.add("over")
        let granted = try await decided
        #expect(try await database.number("SELECT count(*) FROM grants") == granted)
        #expect(try await database.pool.run { try Schema.check($0) } == .current)
        await ledger.close()
    }
}
