import Foundation
import Fulfillment
import Ledger
import Postgres
import Testing

@Suite("Migrations beside workers and readers")
struct MigrationTests {
    @Test("if the schema is current, a migration changes nothing, and does not wait for a backup that reads the grants")
    func current() async throws {
        let database = try await LedgerDatabase()
        let backup = try await OpenTransaction(database, "LOCK TABLE grants, outcomes IN ACCESS SHARE MODE")
        let told = ToldLines()
        let found = try await database.pool.run { session in try Schema.migrate(session) { told.add($0) } }
        #expect(found == .current)
        #expect(told.all.isEmpty)
        try await backup.finish()
    }

    @Test(
        "if a backup blocks a migration, the migration names the backup's session, and blocks no grants meanwhile",
        .timeLimit(.minutes(2)))
    func old() async throws {
        let database = try await LedgerDatabase()
        try await database.run(
            "DROP TABLE maintenance_turns; DROP INDEX proofs_days; UPDATE schema_version SET version = 3")
        let ledger = database.ledger()
        _ = try await ledger.record(Sample.decision([Sample.judged(Sample.purchase("1000"))], offset: 1))
        let backup = try await OpenTransaction(database, "SELECT count(*) FROM grants")
        let told = ToldLines()
        let pool = LedgerDatabase.pool(database.uri, size: 1)
        async let migrated = pool.run { session in try Schema.migrate(session) { told.add($0) } }
        let line = try #require(await told.first())
        #expect(line.contains(OpenTransaction.applicationName) && line.contains("grants"), "\(line)")
        for offset in 2..<40 {
            let decision = Sample.decision([Sample.judged(Sample.purchase("\(1000 + offset)"))], offset: Int64(offset))
            #expect(try await ledger.record(decision).granted.count == 1)
        }
        #expect(try await database.number("SELECT version FROM schema_version") == 3)
        try await backup.finish()
        #expect(try await migrated == .tooOld(found: 3, needed: Schema.currentVersion))
        #expect(try await database.pool.run { try Schema.check($0) } == .current)
        #expect(try await database.number("SELECT count(*) FROM maintenance_turns") == 0)
        #expect(try await database.number(LedgerDatabase.queued) == 0)
        await ledger.close()
        await pool.close()
    }

    @Test(
        "if a migration is blocked too long, its error names the blocking session, and the schema version is unchanged")
    func patience() async throws {
        let database = try await LedgerDatabase()
        try await database.run("DROP TABLE maintenance_turns; UPDATE schema_version SET version = 3")
        let backup = try await OpenTransaction(database, "SELECT count(*) FROM claims")
        let error = await #expect(throws: PostgresError.self) {
            try await database.pool.run { _ = try Schema.migrate($0, patience: 0) { _ in } }
        }
        #expect(error?.sqlState == "55P03")
        #expect(error?.message.contains(OpenTransaction.applicationName) == true)
        #expect(try await database.number("SELECT version FROM schema_version") == 3)
        try await backup.finish()
    }

    @Test("a migration builds a missing index, rebuilds an invalid index, and drops a replaced index")
    func indexes() async throws {
        let database = try await LedgerDatabase()
        try await database.run(
            """
            DROP INDEX proofs_days;
            CREATE INDEX proofs_seen_on ON proofs USING brin (seen_on);
            INSERT INTO proofs (proof, evidence, transaction_ids, seen_on)
            SELECT sha256(n::text::bytea), decode(repeat('ab', 100), 'hex'), ARRAY[n::text], '2026-01-01'
            FROM generate_series(1, 60000) AS n;
            UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'replays_days'::regclass;
            UPDATE schema_version SET version = 3
            """)
        let told = ToldLines()
        _ = try await database.pool.run { session in try Schema.migrate(session) { told.add($0) } }
        #expect(told.all.contains { $0.contains("proofs_days") })
        #expect(told.all.contains { $0.contains("replays_days") })
        let indexes = """
            SELECT count(*) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
            WHERE relname IN ('proofs_days', 'replays_days', 'proofs_seen_on') AND indisvalid
            """
        #expect(try await database.number(indexes) == 2)
        // The migration has reset the session's limits.
        let limit = "SELECT setting::int8 FROM pg_settings WHERE name = 'statement_timeout'"
        #expect(try await database.number(limit) == 30_000)
    }

    @Test(
        "if an old snapshot blocks an index build, the migration fails, names the session, and succeeds afterwards",
        .timeLimit(.minutes(2)))
    func snapshot() async throws {
        let database = try await LedgerDatabase()
        try await database.run(
            """
            DROP INDEX proofs_days;
            INSERT INTO proofs (proof, evidence, transaction_ids, seen_on)
            SELECT sha256(n::text::bytea), decode(repeat('ab', 100), 'hex'), ARRAY[n::text], '2026-01-01'
            FROM generate_series(1, 60000) AS n;
            UPDATE schema_version SET version = 3
            """)
        // The backup's transaction locks no table that the migration changes.
        let backup = try await OpenTransaction(
            database, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_type")
        let error = await #expect(throws: PostgresError.self) {
            try await database.pool.run { _ = try Schema.migrate($0, patience: 0) { _ in } }
        }
        #expect(error?.sqlState == "55P03")
        for word in ["proofs_days", OpenTransaction.applicationName, "holds an earlier snapshot"] {
            #expect(error?.message.contains(word) == true, "\(error?.message ?? "")")
        }
        try await backup.finish()
        try await database.pool.run { try Schema.migrate($0) }
        #expect(
            try await database.number(
                "SELECT count(*) FROM pg_index WHERE indexrelid = 'proofs_days'::regclass AND indisvalid")
                == 1)
    }

    @Test("if a role may not migrate, the remedy names the missing GRANT or the role that owns the tables")
    func rights() async throws {
        let database = try await LedgerDatabase(isMigrated: false)
        let role = "Owner \(UUID().uuidString.prefix(8).lowercased())"
        try await database.run("CREATE ROLE \"\(role)\" LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC")
        let name = role.replacing(" ", with: "%20")
        let pool = LedgerDatabase.pool(database.uri.replacing("postgres@", with: "\(name)@"), size: 1)
        let error = await #expect(throws: PostgresError.self) { try await pool.run { try Schema.migrate($0) } }
        #expect(error?.sqlState == "42501")
        let remedy = try await pool.run { try Schema.missingRight(in: $0) }
        #expect(remedy?.contains(#"GRANT CREATE, USAGE ON SCHEMA public TO "\#(role)""#) == true, "\(remedy ?? "")")
        try await database.run("GRANT CREATE ON SCHEMA public TO \"\(role)\"")
        try await database.pool.run { try Schema.migrate($0) }
        let owner = try await pool.run { try Schema.missingRight(in: $0) }
        #expect(owner?.contains("belong to the role postgres") == true, "\(owner ?? "")")
        #expect(try await database.pool.run { try Schema.missingRight(in: $0) } == nil)
        await pool.close()
    }

    @Test(
        "the migration from version 9 drops the key of device_sightings, not its rows; a published table allows DELETE")
    func sightings() async throws {
        let database = try await LedgerDatabase(schema: "9")
        try await database.run("INSERT INTO device_sightings VALUES ('b', 'd', '2026-01-01', 'p')")
        let found = try await database.pool.run { session in try Schema.migrate(session) { _ in } }
        #expect(found == .tooOld(found: 9, needed: Schema.currentVersion))
        let indexes = """
            SELECT count(*) FROM pg_index WHERE indrelid = 'device_sightings'::regclass
                AND indexrelid <> 'device_sightings_devices'::regclass
            """
        #expect(try await database.number(indexes) == 0)
        #expect(try await database.number("SELECT count(*) FROM device_sightings") == 1)
        try await database.run("CREATE PUBLICATION everything FOR ALL TABLES; DELETE FROM device_sightings")
        #expect(try await database.number("SELECT count(*) FROM device_sightings") == 0)
    }
}
