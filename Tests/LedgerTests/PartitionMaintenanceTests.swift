import Foundation
import Fulfillment
import NamesAndTimes
import Postgres
import Testing

@testable import Ledger

@Suite("The maintenance of outcome partitions beside workers and readers")
struct PartitionMaintenanceTests {
    private static let days = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'outcomes'::regclass"
    /// SQL that adds the partitions of four past days and drops tomorrow's partition.
    private static let untended = """
        DO $$ BEGIN
            EXECUTE 'DROP TABLE outcomes_' || to_char(now() AT TIME ZONE 'UTC' + interval '1 day', 'YYYYMMDD');
            FOR day IN 1..4 LOOP
                EXECUTE format('CREATE TABLE outcomes_2020010%s PARTITION OF outcomes FOR VALUES FROM (%L) TO (%L)',
                    day, date '2019-12-31' + day, date '2020-01-01' + day);
            END LOOP;
        END $$
        """

    @Test(
        "if a session reads outcomes, maintenance names the session and waits for a later run; no decision is delayed")
    func reader() async throws {
        let database = try await LedgerDatabase()
        try await database.run(Self.untended)
        let ledger = database.ledger()
        let backup = try await OpenTransaction(database, "LOCK TABLE outcomes IN ACCESS SHARE MODE")
        let blocked = try await OutcomeRetention.look(in: database.pool, days: 30)
        #expect(blocked.made.isEmpty && blocked.dropped.isEmpty)
        #expect(blocked.blockers?.inWords.contains(OpenTransaction.applicationName) == true)
        #expect(try await database.number(LedgerDatabase.queued) == 0)
        // The record's day is tomorrow, which has no partition.
        let tomorrow = Timestamp(milliseconds: Timestamp.current.milliseconds + 86_400_000)
        let decision = Sample.decision([Sample.judged(Sample.purchase("1000"))], offset: 1, at: tomorrow)
        #expect(try await ledger.record(decision).granted.count == 1)
        #expect(try await ledger.recall(Sample.query(for: decision)) != .nothing)
        try await backup.finish()
        let free = try await OutcomeRetention.look(in: database.pool, days: 30)
        #expect(free.blockers == nil)
        #expect(free.skipped.count == 1)
        #expect(free.dropped == ["outcomes_20200101", "outcomes_20200102"])
        #expect(try await ledger.recall(Sample.query(for: decision)) != .nothing)
        await ledger.close()
    }

    @Test("each maintenance run drops the two oldest expired day partitions, until none is left")
    func twoAtATime() async throws {
        let database = try await LedgerDatabase()
        try await database.run(Self.untended)
        let first = try await OutcomeRetention.look(in: database.pool, days: 30)
        #expect(first.made.count == 1)
        #expect(first.dropped == ["outcomes_20200101", "outcomes_20200102"])
        #expect(try await OutcomeRetention.look(in: database.pool, days: 30).dropped.count == 2)
        #expect(try await OutcomeRetention.look(in: database.pool, days: 30).dropped.isEmpty)
        #expect(try await database.number(Self.days) == 40)
    }

    @Test(
        "while the clocks of worker and PostgreSQL differ by more than a day, maintenance drops and deletes nothing",
        arguments: [-45.0, 45, -1.5, 1.5])
    func clocks(daysAhead: Double) async throws {
        let database = try await LedgerDatabase()
        try await database.run(Self.untended)
        try await database.run(
            """
            INSERT INTO proofs (proof, evidence, transaction_ids, seen_on)
            VALUES (sha256('p'), 'e', '{1}', '2020-01-01');
            INSERT INTO replays VALUES ('p', 'b', '2020-01-01', 1, now())
            """)
        let ours = Timestamp(milliseconds: Timestamp.current.milliseconds + Int64(daysAhead * 86_400_000))
        let report = try await OutcomeRetention(pool: database.pool, days: 7, turnSeconds: 0).run(now: ours)
        #expect(report.clockDifference.map { abs($0 + daysAhead * 86_400) < 3600 } == true)
        #expect(report.dropped.isEmpty && report.pruned.proofs == 0 && report.pruned.replays == 0)
        // Maintenance creates partitions for the days of both clocks.
        #expect(report.made.count >= 1)
        let sane = try await OutcomeRetention.look(in: database.pool, days: 7)
        #expect(sane.clockDifference == nil)
        #expect(sane.dropped.count == 2 && sane.pruned.proofs == 1 && sane.pruned.replays == 1)
    }

    @Test(
        "one of four concurrent replicas runs maintenance; a last run dated in the future does not block the next run")
    func turns() async throws {
        let database = try await LedgerDatabase()
        let pool = LedgerDatabase.pool(database.uri, size: 4)
        func look() async throws -> OutcomeRetention.Report {
            try await OutcomeRetention(pool: pool, days: 30, turnSeconds: 3600).run(now: .current)
        }
        let reports = try await withThrowingTaskGroup(of: OutcomeRetention.Report.self) { group in
            for _ in 0..<4 { group.addTask { try await look() } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(reports.count { !$0.isAnothersTurn } == 1)
        // The update stands for a turn that a replica had while the clock was ahead.
        try await database.run("UPDATE maintenance_turns SET taken_at = taken_at + interval '2 days'")
        #expect(try await look().isAnothersTurn == false)
        #expect(try await look().isAnothersTurn)
        await pool.close()
    }

    @Test("a role that owns no table can create and drop day partitions; if it lacks rights, the check names them")
    func roles() async throws {
        let database = try await LedgerDatabase()
        let role = "worker_\(UUID().uuidString.prefix(8).lowercased())"
        try await database.run(Self.untended)
        try await database.run(
            "CREATE ROLE \(role) LOGIN; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO \(role)")
        let pool = LedgerDatabase.pool(database.uri.replacing("postgres@", with: "\(role)@"), size: 1)
        func check() async throws -> MaintenanceCheck { try await pool.run { try MaintenanceCheck.run(in: $0) } }
        #expect(try await check() == .able)
        #expect(try await database.number(Self.days) == 43)
        let report = try await OutcomeRetention.look(in: pool, days: 30)
        #expect(report.made.count == 1)
        #expect(report.dropped.count == 2)

        try await database.run("REVOKE DELETE ON outcomes FROM \(role)")
        guard case .refused(let noDelete) = try await check() else {
            Issue.record("may drop")
            return
        }
        #expect(noDelete.contains("DELETE on outcomes"))
        try await database.run("REVOKE INSERT ON outcomes FROM \(role)")
        guard case .refused(let noInsert) = try await check() else {
            Issue.record("may make")
            return
        }
        #expect(noInsert.contains("INSERT on outcomes"))
        try await database.run(
            "GRANT INSERT, DELETE ON outcomes TO \(role); REVOKE EXECUTE ON FUNCTION make_outcomes_day FROM PUBLIC")
        guard case .refused(let noExecute) = try await check() else {
            Issue.record("may call")
            return
        }
        #expect(noExecute.contains("make_outcomes_day"))
        #expect(try await OutcomeRetention.look(in: database.pool, days: 30).dropped.count == 2)
        await pool.close()
    }

    @Test("while the default partition is larger than 8 MiB, maintenance creates no missing day partition")
    func largeDefault() async throws {
        let database = try await LedgerDatabase()
        try await database.run(Self.untended)
        try await database.run(
            """
            INSERT INTO outcomes (day, source_topic, source_partition, source_offset, content, submission_key,
                submission_id, player_id, bundle_id, proof, granted_transaction_ids, answer, decided_at)
            SELECT '2019-01-01', 't', 0, n, decode(repeat('00', 16), 'hex'), gen_random_uuid(), 's', 'p', 'b',
                sha256('p'), '{}', decode(repeat('ab', 200), 'hex'), now()
            FROM generate_series(1, 30000) AS n
            """)
        #expect(try await database.number("SELECT pg_relation_size('outcomes_default')") > 8 << 20)
        let report = try await OutcomeRetention.look(in: database.pool, days: 30)
        #expect(report.made.isEmpty)
        #expect(report.skipped.count == 1)
    }

    @Test(
        "maintenance finds old proofs, replays and default outcomes by an index, and deletes them by row address",
        arguments: [Pruning.proofs, .replays, .defaults])
    func plans(pruning: Pruning) async throws {
        let database = try await LedgerDatabase()
        try await database.run(
            """
            INSERT INTO proofs SELECT sha256(n::text::bytea), 'e', '{1}', '2026-01-01' FROM generate_series(1, 100000) AS n;
            INSERT INTO replays SELECT n::text, 'b', '2026-01-01', 1, now() FROM generate_series(1, 100000) AS n;
            INSERT INTO outcomes (day, source_topic, source_partition, source_offset, content, submission_key,
                submission_id, player_id, bundle_id, proof, granted_transaction_ids, answer, decided_at)
            SELECT '2019-01-01', 't', 0, n, decode(repeat('00', 16), 'hex'), gen_random_uuid(), 's', 'p', 'b',
                sha256('p'), '{}', 'a', '2026-01-01' FROM generate_series(1, 100000) AS n;
            ANALYZE proofs; ANALYZE replays; ANALYZE outcomes_default
            """)
        let plan = try await database.plan(pruning.finding.sql, types: "date, int8", parameters: "'2025-12-01', 50000")
        #expect(plan.contains("Index Scan"), "\(plan)")
        let deletion = try await database.plan(
            pruning.deleting.sql, types: "date, text[]", parameters: "'2025-12-01', '{\"(0,1)\"}'")
        #expect(deletion.contains("Tid Scan"), "\(deletion)")
    }

    @Test("eight daily maintenance runs delete all old device sightings; each run reads a different share of the table")
    func sightings() async throws {
        let database = try await LedgerDatabase()
        try await database.run(
            """
            INSERT INTO device_sightings
            SELECT 'com.example.game', n::text, now()::date - CASE WHEN n % 10 = 0 THEN 20 ELSE 40 END, 'player-' || n
            FROM generate_series(1, 200000) AS n
            """)
        let turn =
            "SELECT (extract(epoch FROM taken_at) * 1000000)::int8 FROM maintenance_turns WHERE task = 'device_sightings'"
        let retention = OutcomeRetention(pool: database.pool, days: 30, turnSeconds: 0.001)
        let first = try await retention.run(now: .current).pruned.sightings
        #expect(first > 0 && first < 60_000)
        let taken = try await database.number(turn)
        let second = try await retention.run(now: .current)
        #expect(!second.isAnothersTurn && second.pruned.sightings == 0)
        #expect(try await database.number(turn) == taken)
        let today = Timestamp.current.daysSinceEpoch
        var deleted = first
        for day in 0..<SightingPruning.shares {
            let some = try await SightingPruning(pool: database.pool).run(before: today - 30, today: day)
            #expect(some < 60_000)
            deleted += some
        }
        #expect(deleted == 180_000)
        #expect(try await database.number("SELECT count(*) FROM device_sightings") == 20_000)
    }

    @Test(
        "each block of device_sightings is read by exactly one of eight daily maintenance runs",
        arguments: [0, 1, 2, 7, 8, 9, 1_000] as [Int64])
    func shares(of blocks: Int64) {
        var days: [Int64: Int] = [:]
        for day in Int32(20_000)..<20_008 {
            for block in SightingPruning.share(of: blocks, today: day) { days[block, default: 0] += 1 }
        }
        #expect(days == Dictionary(uniqueKeysWithValues: (0..<blocks).map { ($0, 1) }))
    }

    @Test("the statement that deletes old device sightings scans only the given range of blocks")
    func sightingsPlan() async throws {
        let database = try await LedgerDatabase()
        try await database.run(
            """
            INSERT INTO device_sightings SELECT 'b', n::text, '2026-01-01', 'p' FROM generate_series(1, 100000) AS n;
            ANALYZE device_sightings
            """)
        let plan = try await database.plan(
            LedgerStatement.text("delete_old_sightings"), types: "date, text, text",
            parameters: "'2025-12-01', '(0,0)', '(128,0)'")
        #expect(plan.contains("Tid Range Scan"), "\(plan)")
    }
}
