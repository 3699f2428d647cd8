import BackOffice
import Fulfillment
import Ledger
import NamesAndTimes
import Postgres
import Testing

@Suite("The database schema and the catalog store")
struct SchemaTests {
    @Test("six replicas can migrate an empty database concurrently, and a further migration leaves the schema current")
    func appliedAgain() async throws {
        let database = try await LedgerDatabase(isMigrated: false)
        #expect(try await database.pool.run { try Schema.check($0) } == .missing)
        let pool = LedgerDatabase.pool(database.uri, size: 6)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<6 { group.addTask { try await pool.run { try Schema.migrate($0) } } }
            try await group.waitForAll()
        }
        try await database.pool.run { try Schema.migrate($0) }
        #expect(try await database.pool.run { try Schema.check($0) } == .current)
        #expect(try await database.number("SELECT version FROM schema_version") == Schema.currentVersion)
        let days = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'outcomes'::regclass"
        #expect(try await database.number(days) == 40)
    }

    @Test("the schema check distinguishes older from newer schemas, and a migration leaves a newer schema unchanged")
    func versions() async throws {
        let database = try await LedgerDatabase()
        try await database.run("UPDATE schema_version SET version = version + 1")
        let newer = Schema.currentVersion + 1
        #expect(try await database.pool.run { try Schema.check($0) } == .newer(found: newer))
        try await database.pool.run { try Schema.migrate($0) }
        #expect(try await database.pool.run { try Schema.check($0) } == .newer(found: newer))
        try await database.run(
            "ALTER TABLE schema_version DROP CONSTRAINT schema_version_version_check; UPDATE schema_version SET version = 0"
        )
        let state = Schema.State.tooOld(found: 0, needed: Schema.currentVersion)
        #expect(try await database.pool.run { try Schema.check($0) } == state)
    }

    @Test("a database of version 1 is migrated, and its held purchase can be released")
    func fromVersion1() async throws {
        let database = try await LedgerDatabase(schema: "1")
        try await database.run(
            """
            INSERT INTO held_submissions VALUES ('00000000-0000-0000-0000-000000000001',
                '{"submission_id":"s","player_id":"p","bundle_id":"b","receipt_data":"MIIB"}');
            INSERT INTO holds VALUES ('1000', '1000', 'p', 'b', 'gold', 'unknown_product',
                '00000000-0000-0000-0000-000000000001', 's', 'Production', 1, now(), NULL, 1, now(), 't', 0, 7, now())
            """)
        let state = Schema.State.tooOld(found: 1, needed: Schema.currentVersion)
        #expect(try await database.pool.run { try Schema.check($0) } == state)
        try await database.pool.run { try Schema.migrate($0) }
        #expect(try await database.pool.run { try Schema.check($0) } == .current)
        #expect(try await HoldAdministration(pool: database.pool).release(HoldFilter(), by: "ann") == 1)
        let taken = try await PostgresHolds(pool: database.pool).leaseDue(catalogVersion: 1, limit: 5)
        #expect(taken.map(\.transactionID) == ["1000"])
        #expect(taken.first?.evidence == nil && taken.first?.submission.submissionID == "s")
    }

    @Test("a database of the first schema is migrated, its parked row is kept in parked_of_old, and parking works")
    func fromFirstStates() async throws {
        let database = try await LedgerDatabase(schema: "1-first")
        try await database.run(
            """
            INSERT INTO parked VALUES ('00000000-0000-0000-0000-000000000001', 't', 0, 7, now(),
                '00000000-0000-0000-0000-000000000002', 's', 'p', 'b', 'refused_data', '22021', 'x', NULL, '{}')
            """)
        for _ in 0..<2 { try await database.pool.run { try Schema.migrate($0) } }
        #expect(try await database.pool.run { try Schema.check($0) } == .current)
        #expect(try await database.number("SELECT count(*) FROM parked_of_old WHERE submission_id = 's'") == 1)
        let store = PostgresParking(pool: LedgerDatabase.pool(database.uri))
        try await store.park(
            ParkingSubmission(
                submission: Sample.submission("s", player: "p"), position: Sample.position(1),
                proof: Sample.digest("p"),
                traceparent: nil, reason: .appleTrouble, history: WaitingHistory(), dueAfterSeconds: 0))
        #expect(try await database.number("SELECT count(*) FROM parked") == 1)
    }

    @Test("a database of version 2 is migrated, and its parked submission can be leased")
    func fromVersion2() async throws {
        let database = try await LedgerDatabase(schema: "2")
        try await database.run(
            """
            INSERT INTO parked (id, source_topic, source_partition, source_offset, source_timestamp, submission_key,
                submission_id, player_id, bundle_id, proof, reason, due_at)
            VALUES ('00000000-0000-0000-0000-000000000001', 't', 0, 7, now(), '00000000-0000-0000-0000-000000000002',
                's', 'p', 'b', sha256('p'), 'apple_trouble', now());
            INSERT INTO parked_submissions (id, content, submission)
            VALUES ('00000000-0000-0000-0000-000000000001', sha256('s'),
                '{"submission_id":"s","player_id":"p","bundle_id":"b","receipt_data":"MIIB"}')
            """)
        let state = Schema.State.tooOld(found: 2, needed: Schema.currentVersion)
        #expect(try await database.pool.run { try Schema.check($0) } == state)
        try await database.pool.run { try Schema.migrate($0) }
        let store = PostgresParking(pool: LedgerDatabase.pool(database.uri))
        #expect(try await store.leaseDue(limit: 5).count == 1)
        await store.close()
    }

    @Test("every table has a comment in the database")
    func comments() async throws {
        let database = try await LedgerDatabase()
        let silent = """
            SELECT count(*) FROM pg_class
            WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND relname !~ '[0-9]{8}$'
                AND obj_description(oid, 'pg_class') IS NULL
            """
        #expect(try await database.number(silent) == 0)
    }

    @Test("an import of the latest catalog keeps the version; an import of an earlier document makes a new version")
    func catalogs() async throws {
        let store = CatalogStore(pool: try await LedgerDatabase().pool)
        #expect(try await store.latestVersion() == nil)
        let first = try await store.importDocument("apps: []", granting: [])
        #expect(try await store.importDocument("apps: []", granting: []) == first)
        let second = try await store.importDocument("apps: [x]", granting: [])
        #expect(second > first)
        #expect(try await store.latestVersion() == second)
        #expect(try await store.importDocument("apps: []", granting: []) > second)
        #expect(try await store.load(version: second)?.document == "apps: [x]")
        #expect(try await store.load(version: 999) == nil)
    }

    @Test("a catalog import that waits for a concurrent import sees the new catalog, and may refuse to replace it")
    func importsAtOnce() async throws {
        struct Refused: Error {}
        let database = try await LedgerDatabase()
        let store = CatalogStore(pool: LedgerDatabase.pool(database.uri, size: 1))
        let other = try await OpenTransaction(database, "SELECT pg_advisory_xact_lock(\(0x7263_7074_0002))")
        let waiting = Task {
            try await store.importDocument("apps: []", granting: []) { replaced in
                if replaced?.document == "apps: [x]" { throw Refused() }
            }
        }
        try await database.waitForLocks()
        try await database.run("INSERT INTO catalogs (document, sha256) VALUES ('apps: [x]', sha256('apps: [x]'))")
        try await other.finish()
        await #expect(throws: Refused.self) { try await waiting.value }
        #expect(try await database.number("SELECT count(*) FROM catalogs") == 1)
    }
}

@Suite("The retention of outcomes by maintenance")
struct OutcomeRetentionTests {
    private let count = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'outcomes'::regclass"

    @Test("concurrent maintenance runs create a missing day partition once, and drop an old partition")
    func partitions() async throws {
        let database = try await LedgerDatabase()
        try await database.run(
            """
            DROP TABLE IF EXISTS outcomes_19991231;
            CREATE TABLE outcomes_20200101 PARTITION OF outcomes FOR VALUES FROM ('2020-01-01') TO ('2020-01-02');
            DO $$ BEGIN
                EXECUTE 'DROP TABLE outcomes_' || to_char(now() AT TIME ZONE 'UTC' + interval '2 days', 'YYYYMMDD');
            END $$
            """)
        #expect(try await database.number(count) == 40)
        let pool = LedgerDatabase.pool(database.uri, size: 4)
        let reports = try await withThrowingTaskGroup(of: OutcomeRetention.Report.self) { group in
            for _ in 0..<4 { group.addTask { try await OutcomeRetention.look(in: pool, days: 30) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(reports.flatMap(\.made).count == 1)
        #expect(reports.flatMap(\.dropped).contains("outcomes_20200101"))
        #expect(try await database.number(count) == 40)
    }

    @Test(
        "if a day has rows in the default partition, maintenance creates no partition for it; old outcomes are deleted")
    func defaultPartition() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let old = Sample.decision(
            [Sample.judged(Sample.purchase("1000"))], offset: 1, remembers: true,
            at: Timestamp(milliseconds: 1_000_000_000_000))
        _ = try await ledger.record(old)
        #expect(try await database.number("SELECT count(*) FROM outcomes_default") == 1)
        try await database.run(
            """
            DO $$ BEGIN
                EXECUTE 'DROP TABLE outcomes_' || to_char(now() AT TIME ZONE 'UTC' + interval '1 days', 'YYYYMMDD');
            END $$;
            INSERT INTO outcomes SELECT (now() AT TIME ZONE 'UTC' + interval '1 days')::date, source_topic,
                source_partition, source_offset, content, submission_key, submission_id, player_id, bundle_id, proof,
                granted_transaction_ids, answer, now() FROM outcomes_default
            """)
        let report = try await OutcomeRetention.look(in: database.pool, days: 30)
        #expect(report.skipped.count == 1)
        #expect(report.pruned.outcomes == 1)
        #expect(report.pruned.proofs == 1)
        #expect(try await database.number("SELECT count(*) FROM outcomes_default") == 1)
        #expect(try await database.number("SELECT count(*) FROM grants") == 1)
        await ledger.close()
    }
}
