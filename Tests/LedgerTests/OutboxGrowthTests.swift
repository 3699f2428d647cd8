import Ledger
import Postgres
import Testing

@Suite("The outbox after an outage")
struct OutboxGrowthTests {
    /// Nothing truncates the outbox, so it keeps the pages that the longest outage of the outcomes topic needed.
    @Test("after 60,000 events were published and deleted, a sweep touches less than a tenth of the outbox's pages")
    func sweep() async throws {
        let database = try await LedgerDatabase()
        try await database.run(
            """
            INSERT INTO outbox (event_id, source_topic, source_partition, ordinal, record_key, event, created_at)
            SELECT gen_random_uuid(), 't', n % 4, 0, 'player-' || n, decode(repeat('ab', 200), 'hex'),
                now() - interval '1 hour' + make_interval(secs => n / 100.0)
            FROM generate_series(1, 60000) AS n
            """)
        try await database.run("DELETE FROM outbox WHERE record_key NOT LIKE 'player-5999_'")
        try await database.run("VACUUM outbox")
        let pages = try await database.number("SELECT pg_relation_size('outbox') / 8192")
        #expect(pages > 2_000)
        let sql = try LedgerStatement.text("lease_orphaned_outbox")
        let plan = try await database.pool.run { session in
            try session.run(script: "PREPARE sweep (float8, int8, float8, timestamptz) AS \(sql)")
            let rows = try session.execute(
                PostgresStatement("EXPLAIN (ANALYZE, BUFFERS) EXECUTE sweep (0, 500, 30, '-infinity')"))
            return (0..<rows.count).compactMap { rows.text($0, 0) }
        }
        // The plan's first line with buffers counts the whole statement.
        let line = try #require(plan.first { $0.contains("Buffers: shared") })
        let touched = line.split { !$0.isNumber }.compactMap { Int($0) }.reduce(0, +)
        #expect(touched < pages / 10, "\(touched) of \(pages) pages:\n\(plan.joined(separator: "\n"))")
        #expect(try await database.number("SELECT count(*) FROM outbox WHERE leased_until > now()") == 10)
    }
}
