import Fulfillment
import Ledger
import NamesAndTimes
import Postgres
import TestSupport
import Testing

@Suite("The PostgreSQL plans of prepared statements")
struct PlanTests {
    private static let rounds = 4
    private static let batch: Int64 = 60
    private static let rows = 20_000

    @Test("if statements are prepared on empty tables that grow to 20,000 rows, the statements scan no whole table")
    func grown() async throws {
        let database = try await LedgerDatabase()
        let pool = PostgresPool(
            configuration: PostgresConfiguration(
                uri: database.uri, applicationName: "plans", preparedSessionSettings: PostgresLedger.sessionSettings),
            size: 2)
        let ledger = PostgresLedger(pool: pool)
        for round in 0..<Self.rounds { try await work(Int64(round), in: ledger) }
        try await database.run(
            """
            INSERT INTO claims (original_transaction_id, player_id, bundle_id)
            SELECT 'old-' || n, 'player-' || n, 'com.example.game' FROM generate_series(1, \(Self.rows)) AS n;
            INSERT INTO grants (transaction_id, player_id, bundle_id, product_id, quantity, environment, purchased_at,
                submission_id, granted_at, submission_key, kind, event)
            SELECT 'old-' || n, 'player-' || n, 'com.example.game', 'gold', 1, 'Production', now(), 's-' || n, now(),
                gen_random_uuid(), 'consumable', 'e' FROM generate_series(1, \(Self.rows)) AS n;
            INSERT INTO proofs (proof, evidence, transaction_ids, seen_on)
            SELECT sha256(n::text::bytea), 'e', ARRAY['old-' || n], current_date
            FROM generate_series(1, \(Self.rows)) AS n;
            INSERT INTO outbox (event_id, source_topic, source_partition, ordinal, record_key, event)
            SELECT gen_random_uuid(), 't', 0, 0, 'player-' || n, 'e' FROM generate_series(1, \(Self.rows)) AS n;
            SELECT pg_stat_reset()
            """)
        for round in 0..<Self.rounds { try await work(Int64(Self.rounds + round), in: ledger) }
        await ledger.close()
        // PostgreSQL adds a session's counts to the statistics when the session ends, at the latest.
        await pool.close()
        let others = """
            SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
            """
        while try await database.number(others) > 0 {}

        let tables = try await database.pool.run { session in
            let rows = try session.execute(
                PostgresStatement(
                    """
                    SELECT relname, seq_tup_read + (
                        SELECT sum(idx_tup_read) FROM pg_stat_user_indexes AS its WHERE its.relid = known.relid
                    )::int8, idx_scan
                    FROM pg_stat_user_tables AS known
                    WHERE relname = ANY ($1::text[])
                    """),
                [.text("{claims,grants,proofs,outbox}")])
            return (0..<rows.count).map { (rows.text($0, 0) ?? "", rows.int8($0, 1) ?? -1, rows.int8($0, 2) ?? 0) }
        }
        #expect(tables.count == 4)
        for (name, rowsRead, lookUps) in tables {
            // A scan of the whole table would have read more rows.
            #expect(rowsRead < Self.rows, "\(name) was read whole")
            #expect(lookUps > 0, "\(name) was not used")
        }
    }

    @Test("a plan prepared on an empty table is replaced after planSeconds, and is kept if planSeconds is 0")
    func analyzedWhileEmpty() async throws {
        let database = try await LedgerDatabase()
        // Nothing analyzes the table while the test runs.
        try await database.run(
            "CREATE TABLE work (id text PRIMARY KEY, tries int NOT NULL) WITH (autovacuum_enabled = false)")
        try await database.run("VACUUM (ANALYZE) work")
        let (keeping, renewing) = (Self.pool(database, planSeconds: 0), Self.pool(database, planSeconds: 1))
        for pool in [keeping, renewing] { #expect(try await Self.planOfLease(in: pool).contains("Join Filter")) }
        try await database.run(
            "INSERT INTO work SELECT n::text, 0 FROM generate_series(1, \(Self.rows)) AS n")
        try await eventually("the rows are found by their ids") {
            try await !Self.planOfLease(in: renewing).contains("Join Filter")
        }
        #expect(
            try await Self.planOfLease(in: keeping).contains("Join Filter"), "the server makes plans anew by itself")
        await keeping.close()
        await renewing.close()
    }

    private static func pool(_ database: LedgerDatabase, planSeconds: Int) -> PostgresPool {
        PostgresPool(
            configuration: PostgresConfiguration(
                uri: database.uri, applicationName: "plans", preparedSessionSettings: PostgresLedger.sessionSettings,
                planSeconds: planSeconds),
            size: 1)
    }

    /// Returns the session's plan of a prepared statement that leases rows like the statements of due work.
    private static func planOfLease(in pool: PostgresPool) async throws -> String {
        let leasing = PostgresStatement(
            """
            WITH due AS (SELECT id FROM work WHERE id = ANY ($1::text[]) ORDER BY id LIMIT 10)
            UPDATE work SET tries = tries + 1 FROM due WHERE work.id = due.id
            """)
        return try await pool.run { session in
            try session.execute(leasing, [.textArray(["1"])])
            let prepared = try session.execute(
                PostgresStatement(
                    "SELECT name FROM pg_prepared_statements WHERE statement LIKE 'WITH due AS (SELECT id FROM work%'"))
            let name = prepared.text(0, try prepared.column("name")) ?? ""
            let rows = try session.execute(PostgresStatement("EXPLAIN EXECUTE \"\(name)\" ('{1}')"))
            return (0..<rows.count).compactMap { rows.text($0, 0) }.joined(separator: "\n")
        }
    }

    /// Does the work of a worker's batches: recall by record, proof and purchase, then decide, then publish.
    private func work(_ round: Int64, in ledger: PostgresLedger) async throws {
        let decisions = (0..<Self.batch).map { number in
            Sample.decision(
                [Sample.judged(Sample.purchase("\(round)-\(number)"))], player: "p-\(number)",
                offset: round * Self.batch + number, remembers: true)
        }
        #expect(try await recall(decisions, in: ledger) == decisions.map { _ in .nothing })
        let outcomes = try await recordAll(decisions, in: ledger)
        #expect(outcomes.flatMap(\.granted).count == decisions.count)
        ledger.published(outcomes.flatMap(\.events).map(\.eventID))
        let refused = decisions.enumerated().map { index, decision in
            Sample.decision(
                .whole(.accountNotFound, []), player: decision.submission.playerID.text,
                offset: 2_000_000 + round * Self.batch + Int64(index))
        }
        #expect(try await recordAll(refused, in: ledger).allSatisfy { $0.reason == .accountNotFound })
        // These records are new, and their proofs are the same.
        let known = try await recall(decisions, at: 1_000_000, in: ledger)
        #expect(known == decisions.compactMap { $0.evidence.map(Recollection.provenBefore) })
    }

    private func recall(
        _ decisions: [PendingDecision], at distance: Int64 = 0, in ledger: PostgresLedger
    ) async throws -> [Recollection] {
        try await withThrowingTaskGroup(of: (Int, Recollection).self) { group in
            for (index, decision) in decisions.enumerated() {
                let query = RecallQuery(
                    position: Sample.position(decision.position.offset + distance), proof: decision.proof,
                    mayBeRedelivered: true, evidence: decision.evidence)
                group.addTask { (index, try await ledger.recall(query)) }
            }
            var answers: [Int: Recollection] = [:]
            for try await (index, answer) in group { answers[index] = answer }
            return decisions.indices.compactMap { answers[$0] }
        }
    }
}
