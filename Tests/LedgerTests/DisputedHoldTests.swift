import Fulfillment
import NamesAndTimes
import Postgres
import Testing

@testable import BackOffice
@testable import Ledger

@Suite("Two players' holds of one transaction, in PostgreSQL")
struct DisputedHoldTests {
    private static let token = "6e3b2f50-0c1d-4a5e-9f70-112233445566"

    private func decision(
        _ id: String, _ player: String, token: String?, offset: Int64, partition: Int32 = 0
    ) -> PendingDecision {
        var purchase = Sample.purchase(id)
        purchase.appAccountToken = Self.token
        return Sample.decision(
            .each([Sample.judged(purchase, .consumable, .hold(.retiredProduct))]), player: player, offset: offset,
            submission: "s-\(id)-\(player)", partition: partition, token: token)
    }

    /// Holds each transaction for player "first", who has no account token, then for player "second", who has the
    /// token.
    private func hold(_ ids: String..., in ledger: PostgresLedger) async throws {
        for (index, id) in ids.enumerated() {
            let offset = Int64(10 * index)
            _ = try await ledger.record(decision(id, "first", token: nil, offset: offset + 1))
            let second = try await ledger.record(decision(id, "second", token: Self.token, offset: offset + 2))
            #expect(second.reason == .ownershipDisputed)
        }
    }

    private func held(_ database: LedgerDatabase) async throws -> [String] {
        try await HoldAdministration(pool: database.pool).list(HoldFilter(), limit: 100)
            .map { "\($0.transactionID) \($0.playerID)\($0.releasedAt == nil ? "" : " released")" }.sorted()
    }

    @Test("if two players have holds of one transaction, an operator ends one hold and leaves the other unchanged")
    func oneOfTwo() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        try await hold("1", "2", in: ledger)
        let store = HoldAdministration(pool: database.pool)
        #expect(try await store.count(HoldFilter(id: "1")).all == 2)
        #expect(try await store.count(HoldFilter(id: "1", playerID: "second")).all == 1)
        #expect(try await store.release(HoldFilter(id: "1", playerID: "second"), by: "ann") == 1)
        #expect(try await held(database) == ["1 first", "1 second released", "2 first", "2 second"])
        let refused = try await store.reject(
            HoldFilter(id: "2", playerID: "first"), by: "ann", at: Sample.noon)
        #expect(refused.rejected == 1)
        #expect(try await held(database) == ["1 first", "1 second released", "2 second"])
        #expect(try await database.number("SELECT count(*) FROM refusals WHERE player_id <> 'first'") == 0)
        // The rejection deleted the one held submission whose last hold ended.
        #expect(try await database.number("SELECT count(*) FROM held_submissions") == 3)
        #expect(try await store.reject(HoldFilter(), by: "ann", at: Sample.noon).rejected == 3)
        #expect(try await held(database).isEmpty)
        await ledger.close()
    }

    @Test(
        "if an operator rejects the 250 disputed holds of one transaction, the command ends all of them, page by page")
    func pages() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        _ = try await ledger.record(decision("1", "first", token: nil, offset: 1))
        let players = 250
        for player in 0..<players {
            _ = try await ledger.record(
                decision("1", "p-\(player)", token: Self.token, offset: Int64(player) + 2))
        }
        let store = HoldAdministration(pool: database.pool)
        let refused = try await store.reject(
            HoldFilter(reason: .ownershipDisputed), by: "ann", at: Sample.noon)
        #expect(refused.rejected == players)
        #expect(try await held(database) == ["1 first"])
        await ledger.close()
    }

    @Test("before a player's erasure, an operator rejects only this player's hold of a disputed transaction")
    func erased() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        try await hold("1", in: ledger)
        try await PlayerRejection(of: "second", in: database.pool).run(by: "ann", at: Sample.noon)
        #expect(try await held(database) == ["1 first"])
        await ledger.close()
    }

    @Test("if two players hold an announced purchase, it stays claimed until the last of the two holds has ended")
    func announced() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let subject = AnnouncedSubject(database, ledger)
        try await hold("1000", in: ledger)
        try await subject.enter([try AnnouncedSubject.told("1000")])
        let state = "SELECT count(*) FROM announced_purchases WHERE state = 'claimed'"
        let store = HoldAdministration(pool: database.pool)
        for (player, claimed) in [("second", 1), ("first", 0)] {
            let filter = HoldFilter(id: "1000", playerID: player)
            #expect(try await store.reject(filter, by: "ann", at: Sample.noon).rejected == 1)
            #expect(try await database.number(state) == claimed)
        }
        await ledger.close()
    }

    @Test("if a purchase has two players' holds, a refund request about it belongs to the player of the first hold")
    func refundOwner() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        try await hold("1000", in: ledger)
        let owner =
            "SELECT count(*) FROM refund_owner('1000', '1000', '\(Sample.bundle.text)', 'Production') WHERE player_id = "
        #expect(try await database.number(owner + "'first'") == 1)
        #expect(try await database.number(owner + "'second'") == 0)
        await ledger.close()
    }

    @Test(
        "if two players submit a purchase simultaneously, one submission is held, and the other is disputed or rejected"
    )
    func race() async throws {
        let database = try await LedgerDatabase()
        let ledgers = [database.ledger(), database.ledger()]
        for round in 0..<20 {
            let decisions = [
                decision("\(round)", "first", token: nil, offset: Int64(round)),
                decision("\(round)", "second", token: Self.token, offset: Int64(round), partition: 1),
            ]
            let outcomes = try await withThrowingTaskGroup(of: RecordedOutcome.self) { group in
                for (ledger, decision) in zip(ledgers, decisions) {
                    group.addTask { try await ledger.record(decision) }
                }
                return try await group.reduce(into: [RecordedOutcome]()) { $0.append($1) }
            }
            let reasons = Set(outcomes.compactMap(\.reason))
            #expect(
                reasons == [.retiredProduct, .ownershipDisputed] || reasons == [.retiredProduct, .ownedByOtherPlayer],
                "round \(round): \(reasons)")
        }
        #expect(
            try await database.number("SELECT count(*) FROM holds WHERE reason <> 'ownership_disputed'") == 20)
        for ledger in ledgers { await ledger.close() }
    }

    @Test("if an earlier version's DELETE would delete two players' holds of one transaction, PostgreSQL refuses it")
    func earlierWorker() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        try await hold("1000", "1001", in: ledger)
        await #expect(throws: PostgresError.self) {
            try await database.run("DELETE FROM holds WHERE transaction_id = '1000'")
        }
        #expect(try await held(database).count == 4)
        await ledger.close()
    }

    @Test(
        "a migration of 60,000 holds reports each new index; afterwards two players can have holds of one transaction")
    func migrated() async throws {
        let database = try await LedgerDatabase(schema: "11")
        try await database.run(
            """
            INSERT INTO holds (transaction_id, original_transaction_id, player_id, bundle_id, product_id, reason,
                submission_key, submission_id, environment, quantity, purchased_at, catalog_version, held_at,
                source_topic, source_partition, source_offset, source_timestamp)
            SELECT 't-' || n, 't-' || n, 'p', 'b', 'gold', 'retired_product', gen_random_uuid(), 's', 'Production', 1,
                now(), 1, now(), 't', 0, n, now()
            FROM generate_series(1, 60000) AS n
            """)
        let told = ToldLines()
        _ = try await database.pool.run { session in try Schema.migrate(session) { told.add($0) } }
        for index in ["holds_key", "holds_claiming"] {
            #expect(told.all.contains { $0.contains(index) }, "\(told.all)")
        }
        let ledger = database.ledger()
        let second = try await ledger.record(decision("t-7", "second", token: Self.token, offset: 1))
        #expect(second.reason == .ownershipDisputed)
        await ledger.close()
    }
}
