import Fulfillment
import Ledger
import NamesAndTimes
import Postgres
import Synchronization
import Testing

@Suite("Ledgers of two replicas that decide concurrently")
struct ConcurrencyTests {
    @Test("if two players submit one transaction fifty times through two ledgers, the ledgers grant it once")
    func oneTransaction() async throws {
        let database = try await LedgerDatabase()
        let ledgers = [database.ledger(writers: 2), database.ledger(writers: 2)]
        let outcomes = try await withThrowingTaskGroup(of: RecordedOutcome.self) { group in
            for offset in 0..<50 {
                let decision = Sample.decision(
                    [Sample.judged(Sample.purchase("1000"))], player: "player-\(offset % 2)", offset: Int64(offset))
                group.addTask { try await ledgers[offset / 2 % 2].record(decision) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.flatMap(\.granted).count == 1)
        #expect(outcomes.filter { $0.reason == .alreadyGranted }.count == 24)
        #expect(outcomes.filter { $0.reason == .ownedByOtherPlayer }.count == 25)
        #expect(try await database.number("SELECT count(*) FROM grants") == 1)
        for ledger in ledgers { await ledger.close() }
    }

    @Test("if two players simultaneously restore a non-consumable under new ids, one gets it and the other is rejected")
    func twoRestores() async throws {
        let database = try await LedgerDatabase()
        let one = database.ledger()
        let two = database.ledger()
        for round in 0..<200 {
            func restore(_ player: Int) -> PendingDecision {
                Sample.decision(
                    [Sample.judged(Sample.purchase("\(round)-\(player)", original: "o-\(round)"), .nonConsumable)],
                    player: "player-\(player)", offset: Int64(round), partition: Int32(player))
            }
            async let first = one.record(restore(1))
            async let second = two.record(restore(2))
            let outcomes = try await [first, second]
            #expect(outcomes.flatMap(\.granted).count == 1)
            #expect(outcomes.filter { $0.reason == .ownedByOtherPlayer }.count == 1)
        }
        #expect(try await database.number("SELECT count(*) FROM grants") == 200)
        let matching = """
            SELECT count(*) FROM claims
            JOIN grants ON grants.transaction_id = granted_transaction_id AND grants.player_id = claims.player_id
            """
        #expect(try await database.number(matching) == 200)
        await one.close()
        await two.close()
    }

    @Test("if two players simultaneously restore a purchase whose claim names nobody, exactly one of them gets it")
    func twoRestoresOfFreed() async throws {
        let database = try await LedgerDatabase()
        try await database.run(
            """
            INSERT INTO claims (original_transaction_id, bundle_id)
            SELECT 'o-' || round, 'b' FROM generate_series(0, 199) AS round
            """)
        let one = database.ledger()
        let two = database.ledger()
        for round in 0..<200 {
            func restore(_ player: Int) -> PendingDecision {
                Sample.decision(
                    [Sample.judged(Sample.purchase("\(round)-\(player)", original: "o-\(round)"), .nonConsumable)],
                    player: "player-\(player)", offset: Int64(round), partition: Int32(player))
            }
            async let first = one.record(restore(1))
            async let second = two.record(restore(2))
            let outcomes = try await [first, second]
            #expect(outcomes.flatMap(\.granted).count == 1)
        }
        await one.close()
        await two.close()
    }

    @Test("if concurrent batches have the same transactions in opposite orders, the batches do not deadlock")
    func oppositeOrders() async throws {
        let troubles = Atomic<Int>(0)
        let observer = LedgerObserver(trouble: { trouble in
            if case .failed = trouble { troubles.add(1, ordering: .relaxed) }
        })
        let database = try await LedgerDatabase()
        let ledgers = [database.ledger(observer: observer), database.ledger(observer: observer)]
        for round in 0..<150 {
            let ids = (0..<12).map { "\(round)-\($0)" }
            func decisions(_ side: Int) -> [PendingDecision] {
                (side == 0 ? ids : ids.reversed()).enumerated().map { index, id in
                    Sample.decision(
                        [
                            Sample.judged(Sample.purchase("\(id)-\(side)", original: id), .autoRenewableSubscription),
                            Sample.judged(Sample.purchase("c-\(id)")),
                        ], player: "player-\(side)", offset: Int64(round * 100 + index), partition: Int32(side))
                }
            }
            async let first = recordAll(decisions(0), in: ledgers[0])
            async let second = recordAll(decisions(1), in: ledgers[1])
            let granted = try await (first + second).flatMap(\.granted)
            #expect(Set(granted.map(\.subject)).count == granted.count)
            #expect(granted.filter { $0.subject.text.hasPrefix("c-") }.count == ids.count)
        }
        #expect(troubles.load(ordering: .relaxed) == 0)
        for ledger in ledgers { await ledger.close() }
    }

    @Test("if two replicas decide a record differently at the same time, both replicas get the same answer")
    func zombie() async throws {
        let database = try await LedgerDatabase()
        let ledgers = [database.ledger(), database.ledger()]
        for round in 0..<100 {
            // The catalog changed between the two replicas' decisions, so the decisions differ.
            let granting = Sample.decision([Sample.judged(Sample.purchase("\(round)"))], offset: Int64(round))
            let other = Sample.decision(
                round % 4 < 2
                    ? .each([Sample.judged(Sample.purchase("\(round)"), nil, .hold(.unknownProduct))])
                    : .whole(.productMismatch, [Sample.purchase("\(round)")]), offset: Int64(round))
            let innocent = Sample.decision(
                [Sample.judged(Sample.purchase("i\(round)"))], player: "player-2", offset: Int64(1000 + round))
            async let first = recordAll([granting, innocent], in: ledgers[round % 2])
            async let second = ledgers[(round + 1) % 2].record(other)
            let (one, two) = try await (first, second)
            #expect(one[0] == two)
            #expect(one[1].granted.count == 1)
        }
        #expect(try await database.number("SELECT count(*) FROM outcomes") == 200)
        let claimsWithout = """
            SELECT count(*) FROM claims
            WHERE original_transaction_id NOT IN (
                SELECT original_transaction_id FROM grants UNION ALL SELECT original_transaction_id FROM holds)
            """
        #expect(try await database.number(claimsWithout) == 0)
        for ledger in ledgers { await ledger.close() }
    }

    @Test(
        "while one of the ledger's writers waits for a lock, the ledger's second writer writes the queued decisions",
        .timeLimit(.minutes(1)))
    func backlog() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger(writers: 2, backlog: 8)
        // A second session locks the claim, and waits for the advisory lock that the test's session has.
        try await database.run(
            "INSERT INTO claims (original_transaction_id, bundle_id) VALUES ('1', 'b'); SELECT pg_advisory_lock(1)")
        async let lock: Void = LedgerDatabase.pool(database.uri, size: 1).run { session in
            try session.run(
                script: """
                    SET lock_timeout = 0; SET statement_timeout = 0;
                    BEGIN; SELECT FROM claims FOR UPDATE; SELECT pg_advisory_xact_lock(1); COMMIT
                    """)
        }
        try await database.waitForLocks(1)
        async let blocked = ledger.record(Sample.decision([Sample.judged(Sample.purchase("1"))], offset: 1))
        try await database.waitForLocks(2)
        let others = (2...9).map { Sample.decision([Sample.judged(Sample.purchase("\($0)"))], offset: Int64($0)) }
        #expect(try await recordAll(others, in: ledger).flatMap(\.granted).count == 8)
        #expect(try await database.number("SELECT count(*) FROM grants") == 8)
        try await database.run("SELECT pg_advisory_unlock(1)")
        try await lock
        #expect(try await blocked.granted.count == 1)
        await ledger.close()
    }

    @Test("if a batch contains a record many times, all copies get the same answer")
    func twiceInABatch() async throws {
        let ledger = try await LedgerDatabase().ledger()
        let decision = Sample.decision([Sample.judged(Sample.purchase("1000"))], offset: 1)
        let outcomes = try await recordAll(Array(repeating: decision, count: 20), in: ledger)
        #expect(Set(outcomes.map { $0.granted.count }) == [1])
        #expect(outcomes.allSatisfy { $0 == outcomes[0] })
        await ledger.close()
    }
}
