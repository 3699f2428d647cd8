import Fulfillment
import NamesAndTimes
import Postgres
import Testing

@testable import BackOffice
@testable import Ledger

/// PostgreSQL reads the whole default partition whenever maintenance creates a day's partition. Maintenance
/// creates no day while the default partition holds many rows.
@Suite("The default partition of the outcomes table")
struct DefaultOutcomesTests {
    private static let days = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'outcomes'::regclass"
    private static let inDefault = "SELECT count(*) FROM outcomes_default"
    private static let apart = "SELECT count(*) FROM outcomes_apart"
    private static let now = Timestamp.current
    /// SQL that drops tomorrow's partition, and fills the default partition with rows decided an hour ago. These rows
    /// are more than maintenance lets PostgreSQL read under a lock.
    private static let filled = """
        DO $$ BEGIN
            EXECUTE 'DROP TABLE outcomes_' || to_char(now() AT TIME ZONE 'UTC' + interval '1 day', 'YYYYMMDD');
        END $$;
        INSERT INTO outcomes (day, source_topic, source_partition, source_offset, content, submission_key,
            submission_id, player_id, bundle_id, proof, granted_transaction_ids, answer, decided_at)
        SELECT '2019-01-01', 't', 0, n, decode(repeat('00', 16), 'hex'), gen_random_uuid(), 's', 'p', 'b',
            sha256('p'), '{}', decode(repeat('ab', 200), 'hex'), now() - interval '1 hour'
        FROM generate_series(1, 30000) AS n
        """

    private static func time(_ days: Double) -> Timestamp { now.adding(milliseconds: Int64(days * 86_400_000)) }

    private func decision(offset: Int64, sentAt: Timestamp) -> PendingDecision {
        Sample.decision(
            .each([Sample.judged(Sample.purchase("\(1000 + offset)"))]), offset: offset, at: Self.now, sentAt: sentAt)
    }

    @Test("outcomes of the last month and next days go to day partitions, and all other outcomes go to outcomes_apart")
    func oldTopic() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let partitions = try await database.number(Self.days)
        let times = [
            Self.time(-3), Self.time(-29.9), Self.time(6.9), Self.time(-40), Timestamp(milliseconds: 0),
            Timestamp(milliseconds: 253_402_300_799_000),
        ]
        let decisions = times.enumerated().map { decision(offset: Int64($0.offset), sentAt: $0.element) }
        for decision in decisions { #expect(try await ledger.record(decision).granted.count == 1) }
        #expect(try await database.number(Self.inDefault) == 0)
        #expect(try await database.number(Self.apart) == 3)
        #expect(try await database.number(Self.days) == partitions)
        for decision in decisions {
            let first = try await ledger.record(decision).events
            #expect(try await ledger.recall(Sample.query(for: decision)) == .answered(first))
        }
        #expect(try await database.number("SELECT count(*) FROM outcomes") == times.count)
        let inspection = try await Inspection.of("s-0-4", days: 30, limit: 10, in: database.pool)
        #expect(inspection.sections.first { $0.name == "outcomes" }?.rows.count == 1)
        await ledger.close()
    }

    @Test("maintenance empties the default partition in slices, keeps answers readable, and then creates missing days")
    func moved() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        // The record's day has no partition, because maintenance could not create the day.
        try await database.run(Self.filled)
        let tomorrow = decision(offset: 1, sentAt: Self.time(1))
        let first = try await ledger.record(tomorrow).events
        try await database.run("UPDATE outcomes_default SET decided_at = now() - interval '1 hour'")
        #expect(try await DefaultOutcomes.move(in: database.pool, limit: 2_000) == 2_000)
        #expect(try await database.number(Self.inDefault) == 28_001)
        #expect(try await ledger.recall(Sample.query(for: tomorrow)) == .answered(first))
        let look = try await OutcomeRetention.look(in: database.pool, days: 30)
        #expect(look.moved == 28_001 && look.skipped.count == 1)
        #expect(try await database.number(Self.inDefault) == 0)
        #expect(try await database.number(Self.apart) == 30_001)
        #expect(try await ledger.recall(Sample.query(for: tomorrow)) == .answered(first))
        // Autovacuum would do the same later.
        try await database.run("VACUUM outcomes_default")
        #expect(try await OutcomeRetention.look(in: database.pool, days: 30).made.count == 1)
        #expect(try await ledger.recall(Sample.query(for: tomorrow)) == .answered(first))
        await ledger.close()
    }

    @Test("receiptd migrate empties the default partition of outcomes, and creates the missing day partitions")
    func migrated() async throws {
        let database = try await LedgerDatabase()
        let partitions = try await database.number(Self.days)
        try await database.run(Self.filled)
        let told = ToldLines()
        #expect(try await database.pool.run { session in try Schema.migrate(session) { told.add($0) } } == .current)
        #expect(told.all.first?.hasPrefix("moved 2000 rows ") == true)
        #expect(told.all.last?.hasPrefix("moved 30000 rows ") == true)
        #expect(try await database.number(Self.inDefault) == 0)
        #expect(try await database.number(Self.days) == partitions)
    }

    @Test("maintenance deletes old rows of outcomes_apart, and finds the rows by an index")
    func pruned() async throws {
        let database = try await LedgerDatabase()
        try await database.run(Self.filled)
        _ = try await DefaultOutcomes.move(in: database.pool)
        try await database.run(
            "UPDATE outcomes_apart SET decided_at = now() - interval '40 days' WHERE source_offset < 100")
        #expect(try await OutcomeRetention.look(in: database.pool, days: 30).pruned.outcomes == 99)
        try await database.run("ANALYZE outcomes_apart")
        let plan = try await database.plan(
            Pruning.apart.finding.sql, types: "date, int8", parameters: "'2025-12-01', 50000")
        #expect(plan.contains("Index Scan"), "\(plan)")
    }
}
