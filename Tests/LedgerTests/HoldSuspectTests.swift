import Fulfillment
import NamesAndTimes
import Postgres
import Testing

@testable import BackOffice
@testable import Ledger

@Suite("Held purchases that kill their workers")
struct HoldSuspectTests {
    /// Runs `body` in a database that holds `count` purchases, from `1001` on, each for another player.
    private func with(
        holds count: Int = 5, _ body: (PostgresHolds, LedgerDatabase) async throws -> Void
    ) async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        for number in 1...count {
            _ = try await ledger.record(
                Sample.decision(
                    [Sample.judged(Sample.purchase("\(1000 + number)"), .consumable, .hold(.retiredProduct))],
                    player: "player-\(number)", offset: Int64(number)))
        }
        try await body(PostgresHolds(pool: database.pool), database)
        await ledger.close()
    }

    private func release(_ database: LedgerDatabase) async throws -> Int {
        try await HoldAdministration(pool: database.pool).release(HoldFilter(), by: "ann")
    }

    private func take(_ holds: PostgresHolds, version: Int64 = 1) async throws -> [String] {
        try await holds.leaseDue(catalogVersion: version, limit: 10).map(\.transactionID.text).sorted()
    }

    private func takeIsolated(_ holds: PostgresHolds, version: Int64 = 1) async throws -> LeasedHold? {
        if case .isolated(let leased) = try await holds.leaseSuspect(catalogVersion: version) { leased } else { nil }
    }

    private func settle(_ hold: LeasedHold, _ holds: PostgresHolds) async throws -> OutcomeEvent? {
        try await holds.settle(
            HoldDecision(
                hold, verdict: .each([Sample.judged(Sample.purchase(hold.transactionID.text))]),
                environment: .production, decidedAt: Sample.noon, catalogVersion: 1))
    }

    private func lease(of transaction: String, in database: LedgerDatabase) async throws -> LeasedHold.Lease {
        let microseconds = "SELECT (extract(epoch FROM leased_until) * 1000000)::int8 FROM holds"
        return LeasedHold.Lease(try await database.number(microseconds + " WHERE transaction_id = '\(transaction)'"))
    }

    /// Lets all leases expire, as if their worker had died.
    private func die(_ database: LedgerDatabase) async throws {
        try await database.run(
            "UPDATE holds SET leased_until = now() - interval '1 second' WHERE leased_until IS NOT NULL")
    }

    @Test(
        "if a hold kills six workers, the last three in isolation, the hold is set aside; the other holds are granted")
    func poison() async throws {
        try await with { holds, database in
            #expect(try await release(database) == 5)
            for _ in 0..<3 {
                #expect(try await holds.hasSuspect(catalogVersion: 1) == false)
                #expect(try await take(holds).count == 5)
                try await die(database)
            }
            #expect(try await take(holds).isEmpty)
            #expect(try await holds.hasSuspect(catalogVersion: 1))
            var deaths = 0
            var granted: [String] = []
            var setAside: SetAsidePurchase?
            while setAside == nil || granted.count < 4 {
                switch try await holds.leaseSuspect(catalogVersion: 1) {
                case .none:
                    Issue.record("\(granted) are granted, and nothing is left")
                    return
                case .isolated(let hold) where hold.transactionID == "1003":
                    deaths += 1
                    try await die(database)
                case .isolated(let hold):
                    #expect(hold.isReleased && hold.isDue && hold.waived == [.retiredProduct])
                    #expect(try await settle(hold, holds)?.kind == .granted)
                    granted.append(hold.transactionID.text)
                case .setAside(let purchase): setAside = purchase
                }
            }
            #expect(deaths == 3)
            #expect(granted.sorted() == ["1001", "1002", "1004", "1005"])
            #expect(
                setAside
                    == SetAsidePurchase(transactionID: "1003", bundleID: Sample.bundle, source: .submission, deaths: 3))
            let left = try await HoldAdministration(pool: database.pool).list(HoldFilter(), limit: 10)
            #expect(left.map(\.transactionID) == ["1003"])
            #expect(left.first?.note == "3 workers died while they tried this hold in isolation")
            #expect(left.first?.releasedAt == nil)
        }
    }

    @Test(
        "if a hold is set aside, no newer catalog makes it due; an operator's release resets its count of worker deaths"
    )
    func setAside() async throws {
        try await with(holds: 1) { holds, database in
            try await database.run("UPDATE holds SET due_at = now(), takes = 5, is_alone = true, deaths_alone = 2")
            guard case .setAside = try await holds.leaseSuspect(catalogVersion: 1) else {
                Issue.record("it is not set aside")
                return
            }
            #expect(try await take(holds, version: 2).isEmpty)
            #expect(try await holds.hasSuspect(catalogVersion: 2) == false)
            #expect(try await release(database) == 1)
            #expect(try await holds.hasSuspect(catalogVersion: 2) == false)
            let hold = try #require(try await holds.leaseDue(catalogVersion: 2, limit: 1).first)
            #expect(try await database.number("SELECT takes + deaths_alone FROM holds") == 1)
            #expect(try await settle(hold, holds)?.kind == .granted)
        }
    }

    @Test("after three expired leases a hold is suspected of killing workers; leases that a worker ends do not count")
    func innocent() async throws {
        try await with(holds: 1) { holds, database in
            for _ in 0..<10 {
                let hold = try #require(try await holds.leaseDue(catalogVersion: 2, limit: 1).first)
                try await holds.endLease(of: hold)
            }
            for _ in 0..<3 {
                #expect(try await take(holds, version: 2) == ["1001"])
                try await die(database)
            }
            for _ in 0..<5 {
                let released = try #require(try await takeIsolated(holds, version: 2))
                #expect(!released.isDue)
                try await holds.endLease(of: released)
                let forgiven = try #require(try await takeIsolated(holds, version: 2))
                try await holds.clearSuspicion(of: forgiven)
                try await die(database)
            }
            // Two deaths do not set the hold aside, and the end of the next lease clears the count.
            for _ in 0..<2 {
                #expect(try await takeIsolated(holds, version: 2) != nil)
                try await die(database)
            }
            let last = try #require(try await takeIsolated(holds, version: 2))
            #expect(try await takeIsolated(holds, version: 2) == nil)
            try await holds.reschedule(last, dueAfterSeconds: 0)
            #expect(try await database.number("SELECT takes + deaths_alone + is_alone::int4 FROM holds") == 0)
            #expect(try await holds.hasSuspect(catalogVersion: 2) == false)
            #expect(try await take(holds, version: 2) == ["1001"])
        }
    }

    @Test(
        "each expired lease of a hold makes the next a minute longer, up to six minutes; a kept hold is not suspected")
    func kept() async throws {
        try await with(holds: 1) { holds, database in
            var seconds: [Int] = []
            for take in 0..<7 {
                if take < 3 { #expect(try await self.take(holds, version: 2) == ["1001"]) }
                if take >= 3 { #expect(try await takeIsolated(holds, version: 2) != nil) }
                seconds.append(
                    try await database.number(
                        "SELECT round(extract(epoch FROM leased_until - now()) / 60)::int8 FROM holds"))
                try await database.run("UPDATE holds SET leased_until = now() - interval '1 second', is_alone = false")
            }
            #expect(seconds == [1, 2, 3, 4, 5, 6, 6])
            let hold = try #require(try await takeIsolated(holds, version: 2))
            try await holds.keepHeld([(hold: hold, reason: .retiredProduct)], catalogVersion: 2)
            #expect(try await database.number("SELECT takes + deaths_alone + is_alone::int4 FROM holds") == 0)
            #expect(try await take(holds, version: 3) == ["1001"])
        }
    }

    @Test(
        "the ledger counts a hold's lease before it reads the submission; a worker without a lease sets no hold aside")
    func countedFirst() async throws {
        try await with(holds: 2) { holds, database in
            #expect(try await release(database) == 2)
            try await database.run("UPDATE held_submissions SET submission = '{'")
            try await database.run(
                """
                CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'broken'; END $$;
                CREATE TRIGGER failing BEFORE UPDATE ON holds
                FOR EACH ROW WHEN (NEW.note IS NOT NULL) EXECUTE FUNCTION fail()
                """)
            await #expect(throws: PostgresError.self) { try await take(holds) }
            #expect(try await database.number("SELECT sum(takes) FROM holds") == 2)
            let leases = try await [lease(of: "1001", in: database), lease(of: "1002", in: database)]
            // When `setAside` runs, no worker leases the first hold any more, and the second hold is still leased.
            try await database.run("UPDATE holds SET leased_until = NULL WHERE transaction_id = '1001'")
            try await database.run("DROP TRIGGER failing ON holds")
            try await database.pool.run { session in
                try UpdateHolds.setAside(
                    [
                        LeasedHolds.Unreadable(transaction: "1001", player: "player-1", lease: leases[0]),
                        LeasedHolds.Unreadable(transaction: "1002", player: "player-2", lease: leases[1]),
                    ], catalogVersion: 1, in: session)
            }
            let released = "SELECT count(*) FROM holds WHERE transaction_id = '1001' AND released_at IS NOT NULL"
            #expect(try await database.number(released + " AND note IS NULL AND takes = 1") == 1)
            let setAside = "SELECT count(*) FROM holds WHERE transaction_id = '1002' AND released_at IS NULL"
            #expect(try await database.number(setAside + " AND note = '\(UpdateHolds.unreadable)'") == 1)
        }
    }

    @Test("the statements that find suspected and due holds use an index in a table of 50,000 holds")
    func plan() async throws {
        let database = try await LedgerDatabase()
        try await database.run(
            """
            INSERT INTO holds (transaction_id, original_transaction_id, player_id, bundle_id, product_id, reason,
                submission_key, submission_id, environment, quantity, purchased_at, catalog_version, held_at,
                source_topic, source_partition, source_offset, source_timestamp, due_at, takes, leased_until)
            SELECT 't-' || n, 'o-' || n, 'p-' || n, 'b' || n % 50, 'gold', 'unknown_product', gen_random_uuid(), 's-' || n,
                'Production', 1, now(), 1, now(), 't', 0, n, now(), now(), CASE WHEN n % 5000 = 0 THEN 4 ELSE 0 END, now()
            FROM generate_series(1, 50000) AS n;
            INSERT INTO held_submissions SELECT submission_key, 's'::bytea FROM holds;
            ANALYZE
            """)
        try await database.run("SET enable_seqscan = on")
        let plans = [
            ("find_hold_suspect", "int8", "1", "holds_suspects"),
            ("lease_suspect_hold", "float8, int4, int8", "60, 3, 1", "holds_suspects"),
            ("lease_due_holds", "int8, float8, int8", "50, 60, 1", "holds_due"),
        ]
        for (name, types, parameters, index) in plans {
            let plan = try await database.plan(
                try LedgerStatement.text(name), types: types, parameters: parameters)
            #expect(!plan.contains("Seq Scan on holds") && plan.contains(index), "\(name)\n\(plan)")
        }
    }
}
