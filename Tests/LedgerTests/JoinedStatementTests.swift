import Fulfillment
import NamesAndTimes
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import Ledger

@Suite("The statement that writes grants and outcomes together")
struct JoinedStatementTests {
    private static func ledger(
        _ database: LedgerDatabase, observer: LedgerObserver = LedgerObserver()
    ) -> (PostgresLedger, PostgresPool) {
        var limits = PostgresLedger.Limits()
        limits.writers = 1
        // There is only one session, so its prepared statements show which statements ran.
        let pool = LedgerDatabase.pool(database.uri, size: 1)
        return (PostgresLedger(pool: pool, limits: limits, observer: observer), pool)
    }

    /// Returns how many of the session's prepared statements write both grants and outcomes, then how many write only
    /// one of the two.
    private static func prepared(_ pool: PostgresPool) async throws -> [Int64?] {
        try await pool.run { session in
            let rows = try session.execute(
                PostgresStatement(
                    """
                    SELECT count(*) FILTER (WHERE writes_grants AND writes_outcomes) AS joined,
                        count(*) FILTER (WHERE writes_grants <> writes_outcomes) AS single
                    FROM (
                        SELECT statement ~ 'INSERT INTO grants' AS writes_grants,
                            statement ~ 'INSERT INTO outcomes' AS writes_outcomes
                        FROM pg_prepared_statements WHERE statement ~ '^(--|WITH)') AS known
                    """))
            return [rows.int8(0, 0), rows.int8(0, 1)]
        }
    }

    @Test("one statement writes a batch's grants and outcomes; two statements write them if the batch has a replay")
    func statements() async throws {
        let database = try await LedgerDatabase()
        let (ledger, pool) = Self.ledger(database)
        let first = try await ledger.record(
            Sample.decision([Sample.judged(Sample.purchase("1"))], player: "one", offset: 1))
        #expect(first.granted.map(\.subject.text) == ["1"])
        #expect(try await Self.prepared(pool) == [1, 0])
        // The ledger counts this replay after the grants and before the outcomes, so it writes them in two statements.
        let again = try await ledger.record(
            Sample.decision([Sample.judged(Sample.purchase("1"))], player: "two", offset: 2))
        #expect(again.reason == .ownedByOtherPlayer)
        #expect(try await Self.prepared(pool) == [1, 1])
        #expect(try await database.number("SELECT count(*) FROM grants WHERE player_id = 'one'") == 1)
        #expect(try await database.number("SELECT count(*) FROM outcomes") == 2)
        await ledger.close()
    }

    @Test("the statement that writes grants and outcomes skips others' purchases, and stores a repeated record once")
    func known() async throws {
        for (index, known) in [
            // Another player's claim.
            "INSERT INTO claims (original_transaction_id, player_id, bundle_id) VALUES ('3', 'another', 'com.example.game')",
            // A grant without its claim.
            """
            INSERT INTO grants (transaction_id, player_id, bundle_id, product_id, quantity, environment, purchased_at,
                submission_id, granted_at, submission_key, kind, event)
            VALUES ('3', 'another', 'com.example.game', 'gold', 1, 'Production', now(), 's', now(), gen_random_uuid(),
                'consumable', 'e')
            """,
        ].enumerated() {
            let database = try await LedgerDatabase()
            let (ledger, _) = Self.ledger(database)
            try await database.run(known)
            let decision = Sample.decision(
                ["2", "3", "4"].map { Sample.judged(Sample.purchase($0), .nonConsumable) }, player: "one",
                offset: Int64(index))
            #expect(try await ledger.record(decision).granted.map(\.subject.text) == ["2", "4"])
            let own = "SELECT count(*) FROM grants WHERE player_id = 'one'"
            #expect(try await database.number(own) == 2)
            #expect(try await database.number("SELECT count(*) FROM outcomes") == 1)
            // The ledger gets the same record again.
            #expect(try await ledger.record(decision).granted.map(\.subject.text) == ["2", "4"])
            #expect(try await database.number("SELECT count(*) FROM outcomes") == 1)
            #expect(try await database.number("SELECT count(*) FROM outbox") == 2)
            await ledger.close()
        }
    }

    @Test(
        "the statement that writes grants waits for an uncommitted claim, and grants only if the claim is rolled back")
    func race() async throws {
        let database = try await LedgerDatabase()
        let (ledger, _) = Self.ledger(database)
        for (transaction, commits) in [("5", true), ("6", false)] {
            let other = try await OpenTransaction(
                database,
                """
                INSERT INTO claims (original_transaction_id, player_id, bundle_id)
                VALUES ('\(transaction)', 'another', 'com.example.game')
                """)
            async let answer = ledger.record(
                Sample.decision(
                    [Sample.judged(Sample.purchase(transaction), .nonConsumable)], player: "one",
                    offset: Int64(transaction) ?? 0))
            try await database.waitForLocks()
            if commits {
                try await other.finish()
                #expect(try await answer.reason == .ownedByOtherPlayer)
            } else {
                let ended = try await database.number(
                    """
                    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                    WHERE application_name = '\(OpenTransaction.applicationName)' AND datname = current_database()
                    """)
                #expect(ended == 1)
                #expect(try await answer.granted.map(\.subject.text) == ["6"])
                await #expect(throws: PostgresError.self) { try await other.finish() }
            }
        }
        await ledger.close()
    }

    @Test(
        "if the event or the proof already exists, the ledger repeats the joined insert with ON CONFLICT, and succeeds")
    func conflict() async throws {
        let decision = Sample.decision(
            [Sample.judged(Sample.purchase("1"))], player: "one", offset: 1, remembers: true)
        let tables = ["outbox", "proofs"]
        let database = try await LedgerDatabase()
        let events = try await database.ledger().record(decision).events
        let rows = try await database.pool.run { session in
            try tables.map { table in
                try session.execute(PostgresStatement("SELECT json_agg(\(table))::text FROM \(table)")).text(0, 0)
            }
        }
        for (table, known) in zip(tables, rows) {
            let known = try #require(known)
            let database = try await LedgerDatabase()
            let conflicts = Atomic(0)
            let observer = LedgerObserver(trouble: { trouble in
                if case .conflict = trouble { conflicts.add(1, ordering: .relaxed) }
            })
            let (ledger, pool) = Self.ledger(database, observer: observer)
            try await database.run(
                "INSERT INTO \(table) SELECT * FROM json_populate_recordset(NULL::\(table), '\(known)')")
            #expect(try await ledger.record(decision).events == events)
            #expect(try await Self.prepared(pool) == [2, 0], "one that does not look, and one that does")
            for counted in ["grants", "outcomes", "outbox", "proofs"] {
                #expect(try await database.number("SELECT count(*) FROM \(counted)") == 1, "\(counted)")
            }
            // After the conflict, the ledger uses the ON CONFLICT variant for the next batch.
            _ = try await ledger.record(
                Sample.decision([Sample.judged(Sample.purchase("2"))], player: "one", offset: 2))
            #expect(ledger.conflicts.areLikely())
            #expect(conflicts.load(ordering: .relaxed) == 1)
            await ledger.close()
        }
    }

    @Test("after a conflict, ConflictWatch calls conflicts likely for exactly ConflictWatch.batches batches")
    func watch() {
        let watch = ConflictWatch()
        #expect(!watch.areLikely())
        for _ in 0..<2 {
            watch.met()
            for _ in 0..<ConflictWatch.batches { #expect(watch.areLikely()) }
            #expect(!watch.areLikely())
        }
    }

    @Test("the two statements that insert grants and outcomes differ only in their ON CONFLICT clauses")
    func variants() throws {
        let conflict = "    ON CONFLICT DO NOTHING"
        let strict = try Self.lines("insert_grants_and_outcomes")
        let looking = try Self.lines("insert_missing_grants_and_outcomes")
        // The strict statement keeps one ON CONFLICT, because `finishes` may already have a row of the transaction.
        #expect(strict.count { $0 == conflict } == 1)
        #expect(looking.count { $0 == conflict } == 5)
        #expect(strict.filter { $0 != conflict } == looking.filter { $0 != conflict })
    }

    @Test("the SQL of insert_missing_grants_and_outcomes is insert_grants followed by insert_outcomes")
    func parts() throws {
        let grants = try Self.lines("insert_grants").dropLast(2)
        let outcomes = try Self.lines("insert_outcomes").dropLast().map { line in
            line.replacing(/\$([0-9]+)/) { "$\((Int($0.output.1) ?? 0) + 31)" }
        }
        #expect(outcomes.first == "WITH decided AS (")
        let joined = grants + ["), decided AS ("] + outcomes.dropFirst()
        #expect(try Self.lines("insert_missing_grants_and_outcomes").dropLast(2) == Array(joined))
    }

    /// Returns the lines of a statement file, without comments.
    private static func lines(_ name: String) throws -> [String] {
        try LedgerStatement.text(name).split(separator: "\n").map(String.init)
            .filter { !$0.trimmingPrefix(while: \.isWhitespace).hasPrefix("--") }
    }
}
