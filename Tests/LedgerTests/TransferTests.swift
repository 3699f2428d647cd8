import Fulfillment
import NamesAndTimes
import Postgres
import Testing

@testable import BackOffice
@testable import Ledger

@Suite("Transfers of subscriptions")
struct TransferTests {
    private func subscribe(in database: LedgerDatabase) async throws {
        try await database.run(
            """
            INSERT INTO subscriptions (original_transaction_id, player_id, bundle_id, product_id, state, environment,
                revision, updated_at, period_began_at)
            VALUES ('5000', 'player-1', '\(Sample.bundle.text)', 'pass', 'active', 'Production', 1, now(), now())
            """)
    }

    private func transfer(in database: LedgerDatabase) async throws -> SubscriptionAdministration.Transfer {
        try await SubscriptionAdministration(pool: database.pool)
            .transfer("5000", to: "player-2", by: "ann", note: nil)
    }

    @Test(
        "while a transaction of a subscription is held, a transfer is refused; after the hold's rejection it succeeds")
    func held() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        func record(_ id: String, _ verdict: JudgedPurchase.Verdict, offset: Int64) async throws {
            let judged = Sample.judged(
                Sample.purchase(id, original: "5000", product: "pass"), .autoRenewableSubscription, verdict)
            _ = try await ledger.record(Sample.decision([judged], offset: offset))
        }
        try await record("5000", .grant(payload: nil), offset: 1)
        try await record("5001", .hold(.kindMismatch), offset: 2)
        try await subscribe(in: database)
        #expect(try await transfer(in: database) == .held(1))
        #expect(try await database.number("SELECT count(*) FROM claims WHERE player_id = 'player-2'") == 0)
        _ = try await HoldAdministration(pool: database.pool)
            .reject(HoldFilter(id: "5001"), by: "ann", at: Sample.noon)
        #expect(try await transfer(in: database) == .done(from: "player-1"))
        await ledger.close()
    }

    @Test("if an operator rejects a hold of a transferred subscription's period, the new owner stays the owner")
    func refusedHold() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        func record(
            _ id: String, _ verdict: JudgedPurchase.Verdict = .grant(payload: nil), player: String, offset: Int64
        ) async throws -> RecordedOutcome {
            let judged = Sample.judged(
                Sample.purchase(id, original: "5000", product: "pass"), .autoRenewableSubscription, verdict)
            return try await ledger.record(Sample.decision([judged], player: player, offset: offset))
        }
        _ = try await record("5000", player: "player-1", offset: 1)
        try await subscribe(in: database)
        #expect(try await transfer(in: database) == .done(from: "player-1"))
        _ = try await record("5001", .hold(.unknownProduct), player: "player-2", offset: 2)
        _ = try await HoldAdministration(pool: database.pool)
            .reject(HoldFilter(id: "5001"), by: "ann", at: Sample.noon)
        #expect(try await record("5002", player: "player-1", offset: 3).reason == .ownedByOtherPlayer)
        #expect(try await record("5002", player: "player-2", offset: 4).granted.count == 1)
        await ledger.close()
    }

    @Test("a subscription that shares a period with a transferred subscription belongs to the new owner")
    func sharedPeriod() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        func judged(_ id: String, of original: String, charged: String) -> JudgedPurchase {
            var purchase = Sample.purchase(id, original: original, product: "pass")
            purchase.webOrderLineItemID = Identifier(charged)
            return Sample.judged(purchase, .autoRenewableSubscription)
        }
        let first = judged("5000", of: "5000", charged: "1")
        _ = try await ledger.record(Sample.decision([first], offset: 1))
        try await database.run("UPDATE claims SET player_id = 'player-2' WHERE original_transaction_id = '5000'")
        let all = [
            first, judged("5001", of: "5000", charged: "2"), judged("6000", of: "6000", charged: "2"),
            judged("6001", of: "6000", charged: "3"),
        ]
        let refused = try await ledger.record(Sample.decision(all, offset: 2))
        #expect(refused.granted.isEmpty)
        let granted = try await ledger.record(Sample.decision(all, player: "player-2", offset: 3))
        #expect(granted.granted.count == 2)
        await ledger.close()
    }

    @Test("a second original that shows a transferred subscription's granted period belongs to the new owner")
    func secondOriginal() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        func judged(_ id: String, of original: String, charged: String) -> JudgedPurchase {
            var purchase = Sample.purchase(id, original: original, product: "pass")
            purchase.webOrderLineItemID = Identifier(charged)
            return Sample.judged(purchase, .autoRenewableSubscription)
        }
        _ = try await ledger.record(Sample.decision([judged("5000", of: "5000", charged: "1")], offset: 1))
        try await subscribe(in: database)
        #expect(try await transfer(in: database) == .done(from: "player-1"))
        let other = [judged("6000", of: "6000", charged: "1"), judged("6001", of: "6000", charged: "2")]
        #expect(try await ledger.record(Sample.decision(other, offset: 2)).granted.isEmpty)
        let granted = try await ledger.record(Sample.decision(other, player: "player-2", offset: 3))
        #expect(granted.granted.count == 1)
        await ledger.close()
    }
}
