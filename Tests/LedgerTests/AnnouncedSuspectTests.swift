import Fulfillment
import NamesAndTimes
import Postgres
import Testing

@testable import BackOffice
@testable import Ledger

@Suite("Announced purchases that kill their workers")
struct AnnouncedSuspectTests {
    private typealias Subject = AnnouncedSubject

    private func enter(_ numbers: ClosedRange<Int>, in subject: Subject) async throws {
        try await subject.enter(try numbers.map { try Subject.told(String($0)) })
        try await subject.endPatience()
    }

    private func lease(_ subject: Subject, version: Int64 = 1) async throws -> [String] {
        try await subject.announced.leaseDue(under: Subject.catalog(version: version), limit: 50)
            .map(\.purchase.purchase.transactionID.text).sorted()
    }

    private func takeIsolated(_ subject: Subject, version: Int64 = 1) async throws -> LeasedAnnouncement? {
        if case .isolated(let leased) = try await subject.announced.leaseSuspect(
            under: Subject.catalog(version: version))
        {
            leased
        } else {
            nil
        }
    }

    private func deliver(_ leased: LeasedAnnouncement, _ subject: Subject) async throws -> [String] {
        try await subject.announced.deliver([leased], under: Subject.catalog(), at: Sample.noon).map(\.inWords)
    }

    /// Lets all leases expire, as if their worker had died.
    private func die(_ database: LedgerDatabase) async throws {
        try await database.run(
            "UPDATE announced_purchases SET leased_until = now() - interval '1 second' WHERE leased_until IS NOT NULL")
    }

    /// Returns the number of rows without counted leases or deaths.
    private func unsuspected(_ database: LedgerDatabase) async throws -> Int {
        try await database.number(
            """
            SELECT count(*) FROM announced_purchases
            WHERE takes = 0 AND NOT is_alone AND deaths_alone = 0 AND leased_until IS NULL
            """)
    }

    @Test("if an announced purchase kills six workers, the last three in isolation, only this purchase is set aside")
    func poison() async throws {
        try await Subject.withPlayer { subject, database in
            try await enter(1001...1005, in: subject)
            for _ in 0..<3 {
                #expect(try await takeIsolated(subject) == nil)
                #expect(try await lease(subject).count == 5)
                try await die(database)
            }
            #expect(try await lease(subject).isEmpty)
            var deaths = 0
            var granted: [String] = []
            var setAside: SetAsidePurchase?
            while setAside == nil || granted.count < 4 {
                switch try await subject.announced.leaseSuspect(under: Subject.catalog()) {
                case .none:
                    Issue.record("\(granted) are granted, and nothing is left")
                    return
                case .isolated(let leased) where leased.purchase.purchase.transactionID == "1003":
                    deaths += 1
                    try await die(database)
                case .isolated(let leased):
                    #expect(try await deliver(leased, subject) == ["granted"])
                    granted.append(leased.purchase.purchase.transactionID.text)
                case .setAside(let purchase): setAside = purchase
                }
            }
            #expect(deaths == 3)
            #expect(granted.sorted() == ["1001", "1002", "1004", "1005"])
            #expect(
                setAside
                    == SetAsidePurchase(
                        transactionID: "1003", bundleID: Sample.bundle, source: .notification, deaths: 3))
            #expect(try await unsuspected(database) == 5)
            let listed = try await UnclaimedAdministration(pool: database.pool)
                .list(UnclaimedFilter(reason: .crashed), limit: 10)
            #expect(listed.map(\.transactionID) == ["1003"])
        }
    }

    @Test(
        "if a purchase is set aside for crashes, no new catalog or token owner makes it due, but a player may submit it"
    )
    func setAside() async throws {
        try await Subject.withPlayer { subject, database in
            try await enter(1001...1001, in: subject)
            try await database.run("UPDATE announced_purchases SET takes = 5, is_alone = true, deaths_alone = 2")
            guard case .setAside = try await subject.announced.leaseSuspect(under: Subject.catalog()) else {
                Issue.record("it is not set aside")
                return
            }
            try await subject.tell(isOf: "player-2", offset: 1)
            #expect(try await lease(subject, version: 2).isEmpty)
            #expect(try await takeIsolated(subject, version: 2) == nil)
            #expect(try await database.number("SELECT count(*) FROM announced_purchases WHERE evidence IS NULL") == 0)
            #expect(try await subject.submit("1001", offset: 1).granted.count == 1)
            let claimed = "SELECT count(*) FROM announced_purchases WHERE state = 'claimed' AND reason IS NULL"
            #expect(try await database.number(claimed) == 1)
        }
    }

    @Test("if an operator retries a purchase set aside for crashes, it is due again, unless its evidence is deleted")
    func retry() async throws {
        try await Subject.withPlayer { subject, database in
            try await enter(1001...1003, in: subject)
            try await database.run(
                """
                UPDATE announced_purchases
                SET state = 'unclaimed', due_at = NULL, awaits_submission = false,
                    catalog_version = 1, reason = CASE transaction_id WHEN '1003' THEN 'unknown_player' ELSE 'crashed' END
                """)
            let store = UnclaimedAdministration(pool: database.pool)
            let crashed = UnclaimedFilter(reason: .crashed)
            #expect(try await store.count(crashed).all == 2)
            #expect(try await store.count(UnclaimedFilter(id: "1002")).retriable == 1)
            #expect(try await store.retry(UnclaimedFilter(id: "1004"), limit: 10) == 0)
            #expect(try await store.count(crashed).digest != store.count(UnclaimedFilter()).digest)
            #expect(try await store.retry(crashed, limit: 1) == 1)
            #expect(try await lease(subject) == ["1001"])
            #expect(try await database.number("SELECT sum(takes) FROM announced_purchases") == 1)
            #expect(try await store.retry(UnclaimedFilter(id: "1002"), limit: 1) == 1)
            #expect(try await subject.deliver() == ["granted"])
            #expect(try await store.retry(crashed, limit: 10) == 0)
            #expect(try await store.list(UnclaimedFilter(), limit: 10).map(\.isRetriable) == [true])
            try await database.run("UPDATE announced_purchases SET evidence = NULL WHERE transaction_id = '1003'")
            let count = try await store.count(UnclaimedFilter())
            #expect((count.all, count.retriable, count.digest) == (1, 0, "0"))
            #expect(try await store.list(UnclaimedFilter(), limit: 10).map(\.isRetriable) == [false])
        }
    }

    @Test("a purchase is not suspect if its worker survives failed deliveries; a delivery resets its count of deaths")
    func innocent() async throws {
        try await Subject.withPlayer { subject, database in
            try await enter(1001...1001, in: subject)
            for _ in 0..<10 {
                let leased = try await subject.announced.leaseDue(under: Subject.catalog(), limit: 1)
                #expect(leased.count == 1)
                try await subject.announced.forgive(leased)
                try await die(database)
            }
            for _ in 0..<3 {
                #expect(try await lease(subject).count == 1)
                try await die(database)
            }
            for _ in 0..<5 {
                let forgiven = try #require(try await takeIsolated(subject))
                try await subject.announced.forgive([forgiven])
                try await die(database)
            }
            // Two deaths do not set the purchase aside.
            for _ in 0..<2 {
                #expect(try await takeIsolated(subject) != nil)
                try await die(database)
            }
            let last = try #require(try await takeIsolated(subject))
            #expect(try await takeIsolated(subject) == nil)
            #expect(try await deliver(last, subject) == ["granted"])
            #expect(try await unsuspected(database) == 1)
        }
    }

    @Test("if leases of an announced purchase expire, each next lease lasts 20 seconds longer, up to 120 seconds")
    func longerLeases() async throws {
        try await Subject.withPlayer { subject, database in
            try await enter(1001...1001, in: subject)
            var seconds: [Int] = []
            for take in 0..<8 {
                if take < 3 { #expect(try await lease(subject).count == 1) }
                if take >= 3 { #expect(try await takeIsolated(subject) != nil) }
                seconds.append(
                    try await database.number(
                        "SELECT round(extract(epoch FROM leased_until - now()) / 20)::int8 FROM announced_purchases"))
                try await database.run(
                    "UPDATE announced_purchases SET leased_until = now() - interval '1 second', is_alone = false")
            }
            #expect(seconds == [1, 2, 3, 4, 5, 6, 6, 6])
        }
    }

    @Test("the ledger counts a lease of an announced purchase before it reads the purchase's evidence")
    func countedFirst() async throws {
        try await Subject.withPlayer { subject, database in
            try await enter(1001...1002, in: subject)
            // The worker cannot read the evidence of 1002, and stores this by an UPDATE, which the trigger makes fail.
            // So the error comes after the lease, and does not end the process.
            try await database.run("UPDATE announced_purchases SET evidence = '{' WHERE transaction_id = '1002'")
            try await database.run(
                """
                CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'broken'; END $$;
                CREATE TRIGGER failing BEFORE UPDATE ON announced_purchases
                FOR EACH ROW WHEN (NEW.state = 'unclaimed') EXECUTE FUNCTION fail()
                """)
            await #expect(throws: PostgresError.self) { try await lease(subject) }
            #expect(try await database.number("SELECT sum(takes) FROM announced_purchases") == 2)
        }
    }

    @Test(
        "if one delivery of a lease fails for an unknown reason, its purchase is postponed, and the others are granted")
    func failing() async throws {
        try await Subject.withPlayer { subject, database in
            try await enter(1001...1003, in: subject)
            try await database.run(
                """
                CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'broken'; END $$;
                CREATE TRIGGER failing BEFORE INSERT ON grants
                FOR EACH ROW WHEN (NEW.transaction_id = '1002') EXECUTE FUNCTION fail()
                """)
            #expect(try await subject.deliver() == ["granted", "granted"])
            let waiting = """
                SELECT count(*) FROM announced_purchases
                WHERE transaction_id = '1002' AND state = 'waiting' AND due_at > now() + interval '30 seconds'
                """
            #expect(try await database.number(waiting) == 1)
            #expect(try await unsuspected(database) == 3)
            // If the purchase is delivered alone, its error is thrown and reaches an operator.
            try await database.run("UPDATE announced_purchases SET due_at = now() WHERE state = 'waiting'")
            await #expect(throws: PostgresError.self) { try await subject.deliver() }
            try await database.run(
                "DROP TRIGGER failing ON grants; UPDATE announced_purchases SET due_at = now() WHERE state = 'waiting'")
            #expect(try await subject.deliver() == ["granted"])
        }
    }

    @Test("the statements that find suspected and due announced purchases use an index in a table of 50,000 rows")
    func plan() async throws {
        let database = try await LedgerDatabase()
        try await database.run(
            """
            INSERT INTO announced_purchases (transaction_id, original_transaction_id, bundle_id, product_id, environment,
                source, submission_id, is_renewal, purchased_at, signed_at, state, evidence, due_at, takes, leased_until)
            SELECT n::text, n::text, 'b', 'gold', 'Production', 'notification', 'apple-' || n, false, now(), now(),
                'waiting', '{}', now(), CASE WHEN n % 5000 = 0 THEN 4 ELSE 0 END, now()
            FROM generate_series(1, 50000) AS n;
            INSERT INTO claims (original_transaction_id, bundle_id) SELECT n::text, 'b' FROM generate_series(1, 50000) AS n;
            ANALYZE
            """)
        try await database.run("SET enable_seqscan = on")
        let plans = [
            (
                "lease_suspect_announced_purchase", "float8, int4, int8, float8", "20, 3, 1, 900",
                "announced_purchases_suspects"
            ),
            (
                "lease_due_announced_purchases", "int8, float8, int8, float8", "100, 20, 1, 900",
                "announced_purchases_due"
            ),
            ("clear_announced_suspicion", "text[], timestamptz[]", "'{7}', '{-infinity}'", "announced_purchases_pkey"),
        ]
        for (name, types, parameters, index) in plans {
            let plan = try await database.plan(
                try LedgerStatement.text(name), types: types, parameters: parameters)
            #expect(!plan.contains("Seq Scan") && plan.contains(index), "\(name)\n\(plan)")
        }
    }
}
