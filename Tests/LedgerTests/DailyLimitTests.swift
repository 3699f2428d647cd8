import BackOffice
import Fulfillment
import Ledger
import NamesAndTimes
import Postgres
import Testing

@Suite("Daily limits in PostgreSQL")
struct DailyLimitTests {
    private func limited(_ id: String, at time: Timestamp = Sample.noon, limit: Int = 5) -> JudgedPurchase {
        JudgedPurchase(
            purchase: Sample.purchase(id, at: time), kind: .consumable, verdict: .grant(payload: nil),
            dailyLimit: limit)
    }

    @Test(
        "if two players each buy twenty times concurrently on one day, each player is granted exactly the daily limit")
    func concurrent() async throws {
        let database = try await LedgerDatabase()
        let ledgers = [database.ledger(writers: 2), database.ledger(writers: 2)]
        let outcomes = try await withThrowingTaskGroup(of: RecordedOutcome.self) { group in
            for number in 0..<40 {
                let decision = Sample.decision(
                    [limited("\(number)")], player: "player-\(number % 2)", offset: Int64(number))
                group.addTask { try await ledgers[number / 2 % 2].record(decision) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.flatMap(\.granted).count == 10)
        #expect(outcomes.filter { $0.reason == .dailyLimit }.count == 30)
        #expect(
            try await database.number("SELECT count(*) FROM grants GROUP BY player_id ORDER BY 1 DESC LIMIT 1") == 5)
        for ledger in ledgers { await ledger.close() }
    }

    /// Both ledgers read the day's grants before either ledger has committed. The second ledger waits for the lock of
    /// the first, and then counts.
    @Test(
        "two replicas together keep to the daily limit under every default isolation level of the database",
        arguments: ["read committed", "repeatable read", "serializable"])
    func isolation(level: String) async throws {
        let database = try await LedgerDatabase()
        try await database.run(
            """
            DO $$ BEGIN
                EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation = %L', current_database(), '\(level)');
            END $$
            """)
        let ledgers = [database.ledger(), database.ledger()]
        // Another session blocks every INSERT into grants until the test's session releases the advisory lock.
        try await database.run("SELECT pg_advisory_lock(1)")
        async let lock: Void = LedgerDatabase.pool(database.uri, size: 1).run { session in
            try session.run(
                script: """
                    SET lock_timeout = 0; SET statement_timeout = 0;
                    BEGIN; LOCK TABLE grants IN SHARE MODE; SELECT pg_advisory_xact_lock(1); COMMIT
                    """)
        }
        try await database.waitForLocks(1)
        async let first = ledgers[0].record(Sample.decision([limited("1", limit: 1)], offset: 1))
        async let second = ledgers[1].record(Sample.decision([limited("2", limit: 1)], offset: 2))
        try await database.waitForLocks(3)
        try await database.run("SELECT pg_advisory_unlock(1)")
        try await lock
        let outcomes = try await [first, second]
        #expect(outcomes.flatMap(\.granted).count == 1)
        #expect(outcomes.filter { $0.reason == .dailyLimit }.count == 1)
        for ledger in ledgers { await ledger.close() }
    }

    @Test("a daily limit counts other systems' grants, but no revoked grants or holds; a released hold may exceed it")
    func counted() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        try await database.run(
            """
            INSERT INTO grants (transaction_id, player_id, bundle_id, product_id, quantity, environment, purchased_at,
                submission_id, granted_at)
            VALUES ('old', 'player-1', 'com.example.game', 'gold', 1, 'Production', '2026-11-20 23:59:59.999Z', 's', now()),
                ('next', 'player-1', 'com.example.game', 'gold', 1, 'Production', '2026-11-21 00:00:00Z', 's', now())
            """)
        func record(_ id: String, _ offset: Int64) async throws -> RecordedOutcome {
            try await ledger.record(Sample.decision([limited(id, limit: 2)], offset: offset))
        }
        #expect(try await record("1", 1).granted.count == 1)
        #expect(try await record("2", 2).reason == .dailyLimit)
        #expect(try await record("3", 3).reason == .dailyLimit)
        try await database.run("UPDATE grants SET revoked_at = now() WHERE transaction_id = '1'")
        #expect(try await record("4", 4).granted.count == 1)
        #expect(try await record("5", 5).reason == .dailyLimit)
        let store = HoldAdministration(pool: database.pool)
        #expect(try await store.release(HoldFilter(id: "2"), by: "ann") == 1)
        let holds = PostgresHolds(pool: database.pool)
        let released = try #require(try await holds.leaseDue(catalogVersion: 1, limit: 5).first)
        #expect(released.dailyCount == 2)
        let judged = JudgedPurchase(purchase: Sample.purchase("2"), kind: .consumable, verdict: .grant(payload: nil))
        let event = try await holds.settle(
            HoldDecision(
                released, verdict: .each([judged]), environment: .production, decidedAt: Sample.noon, catalogVersion: 1)
        )
        #expect(event?.kind == .granted)
        // The released grant counts towards the limit.
        try await database.run("UPDATE grants SET revoked_at = now() WHERE transaction_id = '4'")
        #expect(try await record("6", 6).reason == .dailyLimit)
        await ledger.close()
    }

    @Test("a partly revoked grant counts towards the daily limit until all its units are revoked")
    func parts() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        func record(_ id: String, _ offset: Int64) async throws -> RecordedOutcome {
            let judged = JudgedPurchase(
                purchase: Sample.purchase(id, quantity: 3), kind: .consumable, verdict: .grant(payload: nil),
                dailyLimit: 1)
            return try await ledger.record(Sample.decision([judged], offset: offset))
        }
        let holds = PostgresHolds(pool: database.pool)
        func counted(_ id: StoreTransactionID) async throws -> Int? {
            #expect(
                try await HoldAdministration(pool: database.pool).release(HoldFilter(id: id.text), by: "ann") == 1
            )
            let hold = try await holds.leaseDue(catalogVersion: 1, limit: 5).first
            #expect(hold?.transactionID == id)
            return hold?.dailyCount
        }
        #expect(try await record("1", 1).granted.count == 1)
        try await database.run("UPDATE grants SET revoked_at = now(), revoked_units = 2")
        #expect(try await record("2", 2).reason == .dailyLimit)
        #expect(try await counted("2") == 1)
        #expect(try await record("3", 3).reason == .dailyLimit)
        try await database.run("UPDATE grants SET revoked_units = 3")
        #expect(try await counted("3") == 0)
        #expect(try await record("4", 4).granted.count == 1)
        await ledger.close()
    }

    @Test(
        "if concurrent batches check daily limits in opposite orders, no batch deadlocks, and all purchases are granted"
    )
    func oppositeOrders() async throws {
        let database = try await LedgerDatabase()
        let one = database.ledger()
        let two = database.ledger()
        for round in 0..<30 {
            func decisions(_ side: Int) -> [PendingDecision] {
                let players = (0..<8).map { "player-\($0)" }
                return (side == 0 ? players : players.reversed()).enumerated().map { index, player in
                    Sample.decision(
                        [limited("\(round)-\(side)-\(index)", limit: 1000)], player: player,
                        offset: Int64(round * 10 + index), partition: Int32(side))
                }
            }
            async let first = recordAll(decisions(0), in: one)
            async let second = recordAll(decisions(1), in: two)
            #expect(try await (first + second).flatMap(\.granted).count == 16)
        }
        await one.close()
        await two.close()
    }
}
