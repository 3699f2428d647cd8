import Fulfillment
import Postgres
import Testing

@testable import Ledger

@Suite("The floor below which repeated outbox polls read no rows")
struct PollFloorTests {
    @Test(
        "a poll of the outbox does not reread deleted rows that an old snapshot keeps, and finds new events",
        .timeLimit(.minutes(1)))
    func oldSnapshot() async throws {
        let database = try await LedgerDatabase()
        func insert(_ count: Int, ago: String, spread: String) async throws {
            try await database.run(
                """
                INSERT INTO outbox (event_id, source_topic, source_partition, ordinal, record_key, event, created_at)
                SELECT gen_random_uuid(), 't', 0, 0, 'p', decode(repeat('ab', 200), 'hex'), now() - interval '\(ago)'
                    - random() * interval '\(spread)'
                FROM generate_series(1, \(count));
                ANALYZE outbox
                """)
        }
        try await insert(3_000, ago: "30 seconds", spread: "9 seconds")
        let reader = try await OpenTransaction(
            database, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_type")
        try await database.run("DELETE FROM outbox")
        let floor = PollFloor(.outbox)
        let before = try await database.number("SELECT (extract(epoch FROM now()) * 1000000)::int8 - 10000000")
        // The floor rises only when older SQL transactions of other tests have ended.
        while floor.current < Int64(before) { _ = try await database.pool.run { try floor.look(in: $0) } }
        #expect(try await touched(from: FloorState.beginning, in: database) > 1_000)
        #expect(try await touched(from: floor.current, in: database) < 30)
        let sweeper = OutboxSweeper(pool: database.pool, floor: floor)
        #expect(try await sweeper.leaseOrphans(olderThanSeconds: 10, limit: 10, leaseSeconds: 30).isEmpty)
        #expect(try await LedgerCounts.read(from: database.pool, floor: floor).outboxPending == 0)
        try await insert(2, ago: "0 seconds", spread: "0 seconds")
        #expect(try await LedgerCounts.read(from: database.pool, floor: floor).outboxPending == 2)
        #expect(
            try await database.pool.run { try floor.look(in: $0) }.has(olderThanSeconds: 0))
        try await reader.finish()
    }

    /// Returns the blocks that PostgreSQL reads for one look.
    private func touched(from floor: Int64, in database: LedgerDatabase) async throws -> Int {
        let plan = try await database.pool.run { session in
            try session.run(
                script: """
                    PREPARE look (timestamptz) AS \(PollFloor.Rows.outbox.statement.sql);
                    SET enable_seqscan = off
                    """)
            let rows = try session.execute(
                PostgresStatement(
                    "EXPLAIN (ANALYZE, BUFFERS) EXECUTE look (to_timestamp(\(Double(floor) / 1_000_000)))"))
            try session.run(script: "DEALLOCATE look; RESET enable_seqscan")
            return (0..<rows.count).compactMap { rows.text($0, 0) }
        }
        let line = try #require(plan.first { $0.contains("Buffers: shared") }, "\(plan)")
        return line.split { !$0.isNumber }.compactMap { Int($0) }.reduce(0, +)
    }

    @Test("the outbox polls' floor passes no row or running SQL transaction; a clock change or a fail-over resets it")
    func floor() {
        let second: Int64 = 1_000_000
        var state = FloorState()
        func look(_ seconds: Int64, next: Int64, oldest: Int64, first: Int64? = nil, history: String = "a") {
            state.advance(
                from: state.floor, first: first.map { $0 * second }, at: .init(time: seconds * second, next: next),
                oldest: oldest, in: history)
        }
        look(1_000, next: 50, oldest: 50)
        #expect(state.floor == 0)
        // One SQL transaction of the first look still runs, so the floor passes only rows older than every transaction.
        look(1_010, next: 60, oldest: 49)
        #expect(state.floor == 950 * second)
        look(1_020, next: 70, oldest: 50)
        #expect(state.floor == 998 * second)
        look(1_030, next: 80, oldest: 80, first: 1_005)
        #expect(state.floor == 1_005 * second)
        look(1_040, next: 90, oldest: 90)
        #expect(state.floor == 1_028 * second)
        // First the clock goes back. Later a second database answers.
        look(1_000, next: 100, oldest: 100)
        #expect(state.floor == 0)
        look(1_010, next: 100, oldest: 100)
        #expect(state.floor == 998 * second)
        look(1_020, next: 100, oldest: 100, history: "b")
        #expect(state.floor == 0)
    }
}
