import Fulfillment
import NamesAndTimes
import Testing

@testable import BackOffice
@testable import Ledger

extension HoldTests {
    @Test(
        "an operator's rejection of a hold covers the player's other ids of the period and copies of the non-consumable"
    )
    func rejectedUnderAnotherID() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        func period(_ id: String, _ verdict: JudgedPurchase.Verdict) -> JudgedPurchase {
            var purchase = Sample.purchase(id)
            purchase.webOrderLineItemID = "777"
            return Sample.judged(purchase, .autoRenewableSubscription, verdict)
        }
        let holds = [held("1000", kind: .nonConsumable), period("5000", .hold(.retiredProduct))]
        _ = try await ledger.record(Sample.decision(holds, offset: 1))
        let store = HoldAdministration(pool: database.pool)
        #expect(try await store.reject(HoldFilter(), by: "ann", at: Sample.noon).rejected == 2)
        let others = [
            Sample.judged(Sample.purchase("2000", original: "1000"), .nonConsumable),
            period("6000", .grant(payload: nil)),
        ]
        for (offset, other) in zip(Int64(2)..., others) {
            #expect(try await ledger.record(Sample.decision([other], offset: offset)).reason == .refusedByOperator)
            let stranger = Sample.decision([other], player: "player-2", offset: offset + 10)
            #expect(try await ledger.record(stranger).granted.count == 1)
        }
        await ledger.close()
    }

    @Test("if an operator rejects one of a non-consumable's two held copies, a release of the other ends with a grant")
    func releasedBesideRejected() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let holds = [held("1000", kind: .nonConsumable), held("2000", original: "1000", kind: .nonConsumable)]
        _ = try await ledger.record(Sample.decision(holds, offset: 1))
        let store = HoldAdministration(pool: database.pool)
        #expect(try await store.reject(HoldFilter(id: "2000"), by: "ann", at: Sample.noon).rejected == 1)
        #expect(try await store.release(HoldFilter(id: "1000"), by: "ann") == 1)
        let hold = try #require(try await take(database).first)
        let released = Sample.judged(Sample.purchase("1000"), .nonConsumable)
        #expect(try await PostgresHolds(pool: database.pool).settle(decision(hold, released))?.kind == .granted)
        await ledger.close()
    }
}
