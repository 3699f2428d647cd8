import BackOffice
import Encodings
import Fulfillment
import Ledger
import NamesAndTimes
import Postgres
import Synchronization
import TestSupport
import Testing

@Suite("The inspection of a player, transaction, submission or event")
struct InspectionTests {
    private func rows(_ section: String, of id: String, in database: LedgerDatabase) async throws -> [JSONValue] {
        let inspection = try await Inspection.of(id, days: 100_000, limit: 50, in: database.pool)
        return try #require(inspection.sections.first { $0.name == section }).rows
    }

    @Test("if an inspection exceeds its time limit, it throws TooLong, and the database session can be used again")
    func tooLong() async throws {
        let database = try await LedgerDatabase()
        let obstacle = try await OpenTransaction(database, "LOCK TABLE outcomes IN ACCESS EXCLUSIVE MODE")
        await #expect(throws: Inspection.TooLong.self) {
            _ = try await Inspection.of("s-1", days: 400, limit: 50, within: 0.3, in: database.pool)
        }
        await #expect(throws: Inspection.TooLong.self) {
            _ = try await Inspection.of("s-1", days: 400, limit: 50, within: 0, in: database.pool)
        }
        try await obstacle.finish()
        let found = try await Inspection.of("s-1", days: 400, limit: 50, within: 30, in: database.pool)
        #expect(found.sections.allSatisfy { $0.rows.isEmpty })
    }

    @Test("an inspection by player, transaction or submission finds grants, holds and outcomes, without the receipt")
    func everywhere() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let mixed = [
            Sample.judged(Sample.purchase("1001", original: "1000"), .nonConsumable),
            Sample.judged(Sample.purchase("2000"), .consumable, .hold(.unknownProduct)),
        ]
        _ = try await ledger.record(Sample.decision(mixed, offset: 1, submission: "sub", remembers: true))
        _ = try await ledger.record(Sample.decision(.whole(.accountNotFound, []), player: "player-2", offset: 2))
        for id in ["player-1", "1001", "sub", "1000"] {
            #expect(
                try await rows("grants", of: id, in: database).map { $0["transaction_id"]?.string } == ["1001"], "\(id)"
            )
            #expect(try await rows("claims", of: id, in: database).contains { $0["player_id"]?.string == "player-1" })
        }
        for id in ["player-1", "2000", "sub"] {
            #expect(try await rows("holds", of: id, in: database).map { $0["reason"]?.string } == ["unknown_product"])
        }
        for id in ["player-1", "1001", "sub"] {
            #expect(try await rows("outcomes", of: id, in: database).map { $0["answer"]?.string } == ["receipt.held"])
            #expect(try await rows("proofs", of: id, in: database).count == 1)
        }
        #expect(try await rows("outbox", of: "player-1", in: database).count == 2)
        let longAgo = try await Inspection.of("player-2", days: .max, limit: 1, in: database.pool)
        #expect(longAgo.sections.first { $0.name == "outcomes" }?.rows.count == 1)
        let refused = try #require(try await rows("outcomes", of: "player-2", in: database).first)
        #expect(refused["reason"]?.string == "account_not_found")
        #expect(refused["detail_code"]?.string == "account_not_found")
        #expect(refused["detail"]?.string == Reason.accountNotFound.cause.sentence)
        _ = try await HoldAdministration(pool: database.pool).reject(HoldFilter(), by: "ann", at: Sample.noon)
        #expect(try await rows("refusals", of: "2000", in: database).count == 1)
        #expect(try await rows("hold_decisions", of: "sub", in: database).map { $0["operator"]?.string } == ["ann"])
        let all = try await Inspection.of("player-1", days: 100_000, limit: 50, in: database.pool)
        #expect(!"\(all)".contains("MIIB") && "\(all)".contains("+00:00"))
        for id in ["nobody", "'; DROP TABLE grants; --", "nul\0"] {
            #expect(
                try await Inspection.of(id, days: 2, limit: 5, in: database.pool).sections.allSatisfy(\.rows.isEmpty))
        }
        await ledger.close()
    }

    @Test("an inspection by order id or event id finds the submission, decided or parked, and lists each row once")
    func orders() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let granted = Sample.decision(
            .each([Sample.judged(Sample.purchase("1000"))]), offset: 1, submission: "first", order: "order-7")
        let event = try #require(try await ledger.record(granted).events.first)
        let refused = Sample.decision(.whole(.accountNotFound, []), offset: 2, submission: "second", order: "order-8")
        _ = try await ledger.record(refused)
        func found(_ id: String) async throws -> Inspection {
            try await Inspection.of(id, days: 100_000, limit: 50, in: database.pool)
        }
        let byEvent = try await found(event.eventID.description)
        #expect(byEvent.names == ["first"])
        #expect(byEvent.sections.first { $0.name == "grants" }?.rows.count == 1)
        #expect(try await found("order-7").names == ["first"])
        let byOrder = try await found("order-8")
        #expect(byOrder.names == ["second"])
        #expect(byOrder.sections.first { $0.name == "outcomes" }?.rows.count == 1)
        for id in ["order-9", "first"] { #expect(try await found(id).names.isEmpty) }
        let parking = PostgresParking(pool: LedgerDatabase.pool(database.uri))
        try await parking.park(Sample.parking(3, order: "order-9"))
        #expect(try await found("order-9").names == ["s-3"])
        await parking.close()
        await ledger.close()
    }

    @Test("an inspection reads the outcomes table once for an unknown id or a submission id, and twice for an order id")
    func readings() async throws {
        let database = try await LedgerDatabase()
        try await database.run(
            """
            ALTER TABLE outcomes_apart SET (autovacuum_enabled = false);
            INSERT INTO outcomes (day, source_topic, source_partition, source_offset, content, submission_key, submission_id,
                player_id, bundle_id, proof, granted_transaction_ids, answer, decided_at)
            SELECT '0001-01-01', 't', 0, n, substr(sha256('c'), 1, 16), gen_random_uuid(), 's-' || n, 'p-' || n, 'b', sha256('p'),
                '{}', convert_to(json_build_object('order_id', 'order-' || n % 500)::text, 'UTF8'), now()
            FROM generate_series(1, 1000) AS n;
            ANALYZE outcomes_apart
            """)
        var before = 0
        func read(_ id: String) async throws -> (names: [String], rows: Int) {
            let pool = PostgresPool(
                configuration: PostgresConfiguration(uri: database.uri, applicationName: "console"), size: 1)
            let names = try await Inspection.of(id, days: 2, limit: 50, in: pool).names
            // PostgreSQL adds a session's counts to the statistics when the session ends, at the latest.
            await pool.close()
            var read = before
            try await eventually("the rows are counted") {
                read = try await database.number(
                    "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_user_tables WHERE relname = 'outcomes_apart'")
                return read > before
            }
            defer { before = read }
            return (names, read - before)
        }
        #expect(try await read("nobody") == ([], 1000))
        #expect(try await read("order-7") == (["s-507", "s-7"], 2000))
        #expect(try await read("s-7") == ([], 1000))
    }

    @Test("the trace of a decided or parked submission lists each try at Apple, each rule and each event")
    func trace() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        func steps(_ id: String) async throws -> [String] {
            try await rows("story", of: id, in: database).map { row in
                "\(row["step"]?.string ?? "?"): \(row["detail"]?.string ?? "?")"
            }
        }
        let tries = [Sample.appleTry, AppleTry(at: Sample.noon, answer: .trouble(.init(.timeout)))]
        let trace = DecisionTrace(signature: .notProvable, source: .apple, tries: tries)
        let purchases = [
            Sample.judged(Sample.purchase("1000")),
            Sample.judged(Sample.purchase("2000"), .consumable, .reject(.familyShared)),
            Sample.judged(Sample.purchase("3000"), .consumable, .reject(.cancelled)),
        ]
        let granted = Sample.decision(.each(purchases), offset: 1, submission: "sub", trace: trace)
        let event = try #require(try await ledger.record(granted).events.first)
        let told = try await steps("sub")
        #expect(
            told.map { $0.split(separator: ":")[0] } == [
                "submitted", "classified", "apple", "apple", "submission", "transaction 1000", "transaction 2000",
                "transaction 3000", "receipt.granted",
            ])
        #expect(told[0].contains("receipt_data for com.example.game, record receipt-submissions/0 at 1"))
        #expect(told[1] == "classified: signature not provable here; Apple was asked; catalog 1")
        #expect(told[2] == "apple: verifyReceipt Production: status 21005, 103 ms")
        #expect(told[3] == "apple: timeout, without a request of its own")
        #expect(told[4].hasSuffix("no_purchase, product_mismatch, refused_by_apple"))
        #expect(told[5].hasPrefix("transaction 1000: granted: not refused for ownership_disputed,"))
        #expect(told[6].hasSuffix("binding_mismatch, upgraded, cancelled, revoked_by_operator"))
        #expect(!told[7].contains("binding_mismatch"))
        #expect(told[8] == "receipt.granted: \(event.eventID), not published yet; transaction 1000")
        #expect(try await steps("1000") == told)
        #expect(try await steps("player-1") == told)

        let whole = Sample.decision(.whole(.noPurchase, []), player: "player-2", offset: 2)
        _ = try await ledger.record(whole)
        let refused = try await steps("player-2")
        #expect(refused.count == 3)
        #expect(refused[1].hasPrefix("submission: rejected: no_purchase; not refused for unknown_app"))
        #expect(refused[2].hasSuffix("; no_purchase"))

        let held = Sample.judged(Sample.purchase("4000"), .consumable, .hold(.unknownProduct))
        _ = try await ledger.record(Sample.decision([held], player: "player-3", offset: 3))
        #expect(try await steps("4000").contains { $0.hasPrefix("transaction 4000: held: unknown_product;") })

        let parking = PostgresParking(pool: LedgerDatabase.pool(database.uri))
        try await parking.park(
            ParkingSubmission(
                submission: Sample.submission("waiting", player: "player-4"), position: Sample.position(4),
                proof: Sample.digest("p"), traceparent: nil, reason: .appleTrouble, detail: "timeout",
                history: WaitingHistory(tries: [Sample.appleTry]), dueAfterSeconds: 60))
        let waiting = try await steps("waiting")
        #expect(waiting.map { $0.split(separator: ":")[0] } == ["submitted", "apple", "parked"])
        #expect(waiting[2].hasPrefix("parked: apple_trouble, timeout; next try 2"))
        let ending = try await ParkedRejection(pool: database.pool, by: "ann").run(
            ParkedFilter(id: "waiting"))
        #expect(ending.rejected == 1)
        let ended = try await steps("waiting")
        #expect(ended.contains("refused: by the operator ann"))
        #expect(
            ended.contains { $0.hasPrefix("apple: verifyReceipt") } && !ended.contains { $0.hasPrefix("classified") })
        await parking.close()
        await ledger.close()
    }

    @Test("a trace keeps the last eight tries at Apple, and contains neither the receipt nor the account token")
    func bounded() async throws {
        var tries: [AppleTry] = []
        for second in 0..<20 {
            tries.note(AppleTry(at: Timestamp(milliseconds: Int64(second)), answer: .trouble(.init(.timeout))))
        }
        #expect(tries.map(\.at.milliseconds) == Array(12..<20))
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let submission = Submission(
            submissionID: "s", playerID: "p", bundleID: Sample.bundle, proof: .receipt("MIIBsecret"),
            productID: Identifier(String(repeating: "x", count: 500)), orderID: "o",
            appAccountToken: "6e3b2f50-0c1d-4a5e-9f70-112233445566", deviceID: "d\u{1}", currency: "EUR")
        let decision = PendingDecision(
            submission: submission, position: Sample.position(1), proof: Sample.digest("p"),
            verdict: .whole(.noPurchase, []), environment: .production, evidence: nil, decidedAt: Sample.noon,
            catalogVersion: 3, traceparent: nil,
            trace: DecisionTrace(signature: .proven, source: .proof, tries: tries))
        _ = try await ledger.record(decision)
        #expect(try await database.number("SELECT count(*) FROM outcomes WHERE story ~ 'MIIB|6e3b'") == 0)
        #expect(try await database.number("SELECT count(*) FROM outcomes WHERE length(story) < 1000") == 1)
        let told = try await rows("story", of: "s", in: database).compactMap { $0["detail"]?.string }
        #expect(told[0].hasSuffix("order o, device d\u{1}, currency EUR, with an account token"))
        #expect(told[1] == "signature proven here; the proof was enough: the worker did not ask Apple; catalog 3")
        await ledger.close()
    }

    @Test("if a player submits others' purchases for the tenth time in 30 days, the ledger reports the player once")
    func replays() async throws {
        let database = try await LedgerDatabase()
        let told = Told()
        let ledger = PostgresLedger(
            pool: LedgerDatabase.pool(database.uri), observer: LedgerObserver(replaying: { told.add($0) }))
        let now = Timestamp(
            milliseconds: Int64(try await database.number("SELECT extract(epoch FROM now())::int8")) * 1000)
        let day: Int64 = 86_400_000
        func replay(_ offsets: Range<Int64>, daysAgo: Int64 = 0, player: String = "thief") async throws {
            let decisions = offsets.map { offset in
                Sample.decision(
                    [Sample.judged(Sample.purchase("1000"))], player: player, offset: offset,
                    at: now.adding(milliseconds: -daysAgo * day))
            }
            for outcome in try await recordAll(decisions, in: ledger) {
                #expect(outcome.reason == Reason.ownedByOtherPlayer)
            }
        }
        _ = try await ledger.record(
            Sample.decision([Sample.judged(Sample.purchase("1000"))], player: "owner", offset: 1, at: now))
        try await replay(10..<15, daysAgo: 40)
        try await replay(20..<24, daysAgo: 29)
        try await replay(30..<35)
        #expect(told.all.isEmpty)
        try await replay(40..<41, player: "other")
        try await replay(50..<53)
        // The reported count depends on how many of the three replays the ledger wrote in one batch.
        #expect(told.all.map(\.playerID) == ["thief"])
        #expect(told.all.allSatisfy { (10...12).contains($0.submissions) && $0.bundleID == Sample.bundle })
        // A replay of the same records gets the stored answers and does not raise the count.
        try await replay(50..<53)
        try await replay(60..<61)
        #expect(told.all.count == 1)
        let rows = try await rows("replays_of_others_purchases", of: "thief", in: database)
        #expect(rows.count == 1 && rows[0]["in_30_days"] == .number("13") && rows[0]["latest_at"]?.string != nil)
        #expect(try await self.rows("replays_of_others_purchases", of: "owner", in: database).isEmpty)
        #expect(try await OutcomeRetention.look(in: database.pool, days: 400).pruned.replays == 1)
        await ledger.close()
    }

    private final class Told: Sendable {
        private let players = Mutex<[ReplayingPlayer]>([])

        var all: [ReplayingPlayer] { players.withLock { $0 } }
        func add(_ player: ReplayingPlayer) { players.withLock { $0.append(player) } }
    }
}
