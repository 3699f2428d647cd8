import Encodings
import Fulfillment
import NamesAndTimes
import Postgres
import Testing

@testable import BackOffice
@testable import Ledger

@Suite("Announced purchases in PostgreSQL")
struct AnnouncedTests {
    private typealias Subject = AnnouncedSubject

    private func state(of id: String, in database: LedgerDatabase) async throws -> String {
        try await database.pool.run { session in
            let rows = try session.execute(
                PostgresStatement(
                    "SELECT concat_ws(' ', state, reason) AS state FROM announced_purchases WHERE transaction_id = $1"),
                [.text(id)])
            return rows.text(0, try rows.column("state")) ?? ""
        }
    }

    @Test("an announced purchase with unreadable evidence counts as unclaimed; the lease's other purchases are granted")
    func refusedData() async throws {
        try await Subject.withPlayer { subject, database in
            try await subject.enter([
                try Subject.told("1000"), try Subject.told("1001"), try Subject.told("1002"), try Subject.told("1003"),
            ])
            try await database.run(
                #"""
                UPDATE announced_purchases
                SET evidence = convert_to(replace(convert_from(evidence, 'UTF8'), '"gold"', '"go\u0000ld"'), 'UTF8')
                WHERE transaction_id = '1001';
                UPDATE announced_purchases SET evidence = '{' WHERE transaction_id = '1002'
                """#)
            try await subject.endPatience()
            let outcomes = try await subject.deliver()
            #expect(outcomes == ["granted", "unclaimed unreadable", "granted"])
            #expect(try await state(of: "1001", in: database) == "unclaimed unreadable")
            #expect(try await state(of: "1002", in: database) == "unclaimed unreadable")
            #expect(try await database.number("SELECT count(*) FROM grants") == 2)
        }
    }

    @Test(
        "if an announced purchase is granted, its event is in the outbox; a worker whose lease expired delivers nothing"
    )
    func leases() async throws {
        try await Subject.withPlayer { subject, database in
            try await subject.enter([try Subject.told("1000")])
            try await subject.endPatience()
            let stale = try await subject.announced.leaseDue(under: Subject.catalog(), limit: 5)
            #expect(stale.count == 1)
            #expect(try await subject.announced.leaseDue(under: Subject.catalog(), limit: 5).isEmpty)
            try await database.run("UPDATE announced_purchases SET leased_until = now() - interval '1 second'")
            let fresh = try await subject.announced.leaseDue(under: Subject.catalog(), limit: 5)
            #expect(
                try await subject.announced.deliver(stale, under: Subject.catalog(), at: Sample.noon).isEmpty)
            let event = try #require(
                try await subject.announced.deliver(fresh, under: Subject.catalog(), at: Sample.noon).first?.event)
            let sweeper = OutboxSweeper(pool: database.pool)
            let owed = try await sweeper.leaseUnpublished(topic: LeasedAnnouncement.topic, partition: 0, limit: 5)
            #expect(owed.map(\.event) == [event])
            #expect(event.eventID == OutcomeEvent.eventID(.granted, transaction: "1000", revision: 1))
        }
    }

    @Test("an unclaimed purchase counts as claimed if another system grants it, and is refused if Apple refunds it")
    func others() async throws {
        try await Subject.withPlayer { subject, database in
            try await subject.enter([try Subject.told("1000", token: nil), try Subject.told("1001", token: nil)])
            try await subject.endPatience()
            #expect(try await subject.deliver() == Array(repeating: "unclaimed unknown_player", count: 2))
            try await database.run(
                """
                INSERT INTO grants (transaction_id, player_id, bundle_id, product_id, quantity, environment,
                    submission_id, granted_at)
                VALUES ('1000', 'old', 'com.example.game', 'gold', 1, 'Production', 'x', now())
                """)
            #expect(try await state(of: "1000", in: database) == "claimed")
            try await subject.apply(.revoked(.refund, at: Sample.noon), of: "1001", id: "refund")
            #expect(try await subject.deliver() == ["refused cancelled"])
            try await subject.apply(.reversed, of: "1001", id: "reversal")
            #expect(try await subject.deliver() == ["unclaimed unknown_player"])
        }
    }

    @Test(
        "if Apple announces a purchase as refunded, the worker grants it only after a reversal that Apple signed later")
    func reversed() async throws {
        try await Subject.withPlayer { subject, _ in
            try await subject.enter([try Subject.told("1000") { $0.cancelledAt = Sample.noon }])
            try await subject.endPatience()
            #expect(try await subject.deliver() == ["refused cancelled"])
            try await subject.apply(
                .reversed, of: "1000", id: "before", signedAt: Sample.noon.adding(milliseconds: -60_000))
            #expect(try await subject.deliver() == ["refused cancelled"])
            try await subject.apply(
                .reversed, of: "1000", id: "since", signedAt: Sample.noon.adding(milliseconds: 60_000))
            #expect(try await subject.deliver() == ["granted"])
        }
    }

    @Test("after 180 days an announced purchase's evidence and token are deleted, but a player can still submit it")
    func forgotten() async throws {
        try await Subject.withPlayer { subject, database in
            try await subject.enter([try Subject.told("1000", token: nil), try Subject.told("1001", token: nil)])
            try await subject.endPatience()
            _ = try await subject.deliver()
            try await database.run(
                """
                UPDATE announced_purchases SET token = sha256('t'), stored_at = now() - interval '181 days'
                WHERE transaction_id = '1000'
                """)
            #expect(try await PostgresAnnouncements.forgetEvidence(in: database.pool) == 1)
            #expect(
                try await database.number(
                    "SELECT count(*) FROM announced_purchases WHERE evidence IS NULL AND token IS NULL") == 1)
            #expect(try await subject.deliver(under: Subject.catalog(version: 2)) == ["unclaimed unknown_player"])
            #expect(try await subject.submit("1000", offset: 1).granted.count == 1)
            #expect(try await state(of: "1000", in: database) == "claimed")
        }
    }

    @Test("maintenance deletes the oldest announced purchases of unknown apps, once the newest catalog has judged them")
    func unknownApps() async throws {
        try await Subject.withPlayer { subject, database in
            // This import has version 1, the version of the catalog that decides below.
            try await database.run("INSERT INTO catalogs (document, sha256) VALUES ('first', sha256(''))")
            try await subject.enter(try (1000...1005).map { try Subject.told("\($0)", token: nil) })
            try await subject.endPatience()
            _ = try await subject.deliver()
            // Purchase 1000 is the oldest. The catalog has the app of 1005.
            try await database.run(
                """
                UPDATE announced_purchases
                SET stored_at = now() - interval '1 day' + make_interval(secs => transaction_id::int),
                    reason = CASE WHEN transaction_id <> '1005' THEN 'unknown_app' ELSE reason END
                """)
            let kept = """
                SELECT count(*) FILTER (WHERE transaction_id IN ('1003', '1004', '1005')) * 10 + count(*)
                FROM announced_purchases
                """
            #expect(
                try await PostgresAnnouncements.dropUnknownApps(in: database.pool, maximum: 5, atATime: 1) == 0)
            try await database.run("INSERT INTO catalogs (document, sha256) VALUES ('newer', sha256(''))")
            #expect(
                try await PostgresAnnouncements.dropUnknownApps(in: database.pool, maximum: 2, atATime: 1) == 0)
            try await database.run("DELETE FROM catalogs WHERE document = 'newer'")
            #expect(
                try await PostgresAnnouncements.dropUnknownApps(in: database.pool, maximum: 2, atATime: 1) == 3)
            #expect(try await database.number(kept) == 33)
        }
    }

    @Test(
        "the list of unclaimed purchases shows the player of the token's first grant, unless six players sent the token"
    )
    func list() async throws {
        try await Subject.withPlayer { subject, database in
            let other = "1a2b3c4d-0000-4000-8000-000000000002"
            try await subject.enter([
                try Subject.told("1000", token: other), try Subject.told("1001", token: nil),
            ])
            try await subject.endPatience()
            _ = try await subject.deliver()
            let store = UnclaimedAdministration(pool: database.pool)
            func learnt() async throws -> [String?] {
                try await store.list(UnclaimedFilter(), limit: 10).map(\.learntOf)
            }
            #expect(try await learnt() == [nil, nil])
            try await database.run(
                """
                INSERT INTO account_tokens (bundle_id, token, player_id)
                VALUES ('com.example.game', sha256('\(other)'), 'player-7')
                """)
            #expect(try await learnt() == ["player-7", nil])
            try await database.run(
                """
                INSERT INTO account_token_senders
                SELECT 'com.example.game', sha256('\(other)'), 'p' || n FROM generate_series(1, 6) AS n
                """)
            #expect(try await learnt() == [nil, nil])
            #expect(try await store.count(UnclaimedFilter(bundleID: "com.example.game")).all == 2)
            #expect(try await store.count(UnclaimedFilter(reason: .unknownApp)).all == 0)
            #expect(try await LedgerCounts.read(from: database.pool).unclaimed == 2)
            for id in ["1000", "apple-uuid-1000"] {
                let sections = try await Inspection.of(id, days: 1, limit: 10, in: database.pool).sections
                let rows = sections.first { $0.name == "announced" }?.rows ?? []
                #expect(rows.count == 1 && rows.first?["state"]?.string == "unclaimed")
            }
        }
    }

    @Test("if players submit announced purchases while two replicas deliver them, each purchase is granted once")
    func race() async throws {
        try await Subject.withPlayer { subject, database in
            let count = 120
            let ledgers = (0..<2).map { _ in database.ledger(writers: 2) }
            let stores = (0..<2).map { _ in
                PostgresAnnouncements(pool: LedgerDatabase.pool(database.uri, size: 2), waitSeconds: 0)
            }
            let accounts = PostgresPlayerAccounts(pool: LedgerDatabase.pool(database.uri, size: 1))
            func token(_ number: Int) -> String { "1a2b3c4d-0000-4000-8000-\(String(900_000_000_000 + number))" }
            let told = try (0..<count).map { try Subject.told(String(20_000 + $0), token: token($0)) }
            let pool = LedgerDatabase.pool(database.uri, size: 2)
            let events = try await withThrowingTaskGroup(of: [OutcomeEvent].self) { group in
                for start in stride(from: 0, to: count, by: 20) {
                    group.addTask {
                        try await retrying { try await Subject.enter(Array(told[start..<start + 20]), in: pool) }
                        return []
                    }
                    group.addTask {
                        let batch = (start..<start + 20).map { number in
                            ReceivedAccount(
                                PlayerAccount(
                                    token: AccountTokenKey(bundleID: Sample.bundle, token: token(number)),
                                    player: Subject.player), partition: 0, offset: Int64(number), timestamp: Sample.noon
                            )
                        }
                        _ = try await retrying { try await accounts.apply(batch) }
                        return []
                    }
                }
                for number in 0..<count where number % 3 == 0 {
                    group.addTask {
                        let decision = Sample.decision(
                            [Sample.judged(Sample.purchase(String(20_000 + number)))], offset: Int64(number))
                        return try await ledgers[number % 2].record(decision).events
                    }
                }
                for store in stores {
                    group.addTask {
                        var events: [OutcomeEvent] = []
                        let granted = "SELECT count(*) FROM grants"
                        while try await database.number(granted) < count {
                            events += try await retrying {
                                let leased = try await store.leaseDue(under: Subject.catalog(), limit: 7)
                                return try await store.deliver(leased, under: Subject.catalog(), at: Sample.noon)
                            }.compactMap(\.event)
                        }
                        return events
                    }
                }
                return try await group.reduce(into: [OutcomeEvent]()) { $0 += $1 }
            }
            let granted = events.filter { $0.kind == .granted }
            #expect(granted.count == count && Set(granted.map(\.eventID)).count == count)
            #expect(try await database.number("SELECT count(*) FROM outbox WHERE transaction_id IS NOT NULL") == count)
            let states = "SELECT count(*) FROM announced_purchases WHERE state IN ('claimed', 'granted')"
            #expect(try await database.number(states) == count)
            for ledger in ledgers { await ledger.close() }
        }
    }

    @Test("inserts of grants and holds use an index to find announced purchases in a table of 50,000 rows")
    func plan() async throws {
        let database = try await LedgerDatabase()
        try await database.run(
            """
            INSERT INTO announced_purchases (transaction_id, original_transaction_id, bundle_id, product_id, environment,
                source, submission_id, is_renewal, purchased_at, signed_at, state, evidence)
            SELECT n::text, n::text, 'b', 'gold', 'Production', 'notification', 'apple-' || n, false, now(), now(),
                CASE WHEN n % 50 = 0 THEN 'unclaimed' ELSE 'claimed' END, '{}'
            FROM generate_series(1, 50000) AS n;
            ANALYZE
            """)
        for name in ["insert_grants", "insert_holds"] {
            var known: [Int: String] = [:]
            for match in try LedgerStatement.text(name).matches(of: /\$(\d+)::(\w+\[\])/) {
                if let number = Int(match.output.1) { known[number] = String(match.output.2) }
            }
            let types = known.sorted { $0.key < $1.key }.map(\.value)
            let plan = try await database.plan(
                try LedgerStatement.text(name), types: types.joined(separator: ", "),
                parameters: types.map { _ in "'{}'" }.joined(separator: ", "))
            #expect(!plan.contains("Seq Scan on announced"), "\(plan)")
            #expect(plan.contains("announced_purchases_open") || plan.contains("announced_purchases_pkey"), "\(plan)")
        }
    }

    /// Runs `body` again after each retriable error, as the worker's loops do after a deadlock.
    private func retrying<Value>(_ body: () async throws -> Value) async throws -> Value {
        while true {
            do { return try await body() } catch let error as PostgresError where error.kind == .retriable {}
        }
    }
}
