import Encodings
import Fulfillment
import NamesAndTimes
import Postgres
import Synchronization
import Testing

@testable import BackOffice
@testable import Ledger

@Suite("Holds that operators or newer catalogs end")
struct HoldTests {
    func held(
        _ id: String, original: String? = nil, kind: ProductKind? = .consumable, for reason: Reason = .retiredProduct
    ) -> JudgedPurchase {
        Sample.judged(Sample.purchase(id, original: original), kind, .hold(reason))
    }

    func decision(_ hold: LeasedHold, _ judged: JudgedPurchase, catalogVersion: Int64 = 1) -> HoldDecision {
        HoldDecision(
            hold, verdict: .each([judged]), environment: .production, decidedAt: Sample.noon,
            catalogVersion: catalogVersion)
    }

    func take(_ database: LedgerDatabase, catalogVersion: Int64 = 1, limit: Int = 10) async throws
        -> [LeasedHold]
    {
        try await PostgresHolds(pool: database.pool).leaseDue(catalogVersion: catalogVersion, limit: limit)
    }

    @Test("the list of holds shows the price that Apple gave, or no price if Apple gave none")
    func price() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        var purchase = Sample.purchase("1001", quantity: 3)
        purchase.currency = "EUR"
        purchase.told = PurchaseFacts(priceMilliunits: 5970)
        let priced = Sample.judged(purchase, .consumable, .hold(.retiredProduct))
        _ = try await ledger.record(Sample.decision([held("1000"), priced], offset: 1))
        let holds = try await HoldAdministration(pool: database.pool).list(HoldFilter(), limit: 10)
        #expect(holds.map(\.transactionID) == ["1000", "1001"])
        #expect(holds.map(\.priceMilliunits) == [nil, 5970] && holds.map(\.currency) == [nil, "EUR"])
        await ledger.close()
    }

    @Test("if a released hold is settled with a grant, the event is in the outbox, and the hold's rows are deleted")
    func release() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let first = Sample.decision([held("1000")], offset: 1)
        _ = try await ledger.record(first)
        let store = HoldAdministration(pool: database.pool)
        #expect(try await take(database).isEmpty)
        #expect(try await store.release(HoldFilter(id: "1000"), by: "ann") == 1)
        #expect(try await store.release(HoldFilter(id: "1000"), by: "bob") == 0)
        let count = try await store.count(HoldFilter())
        #expect(count.all == 1 && count.released == 1)
        let taken = try await take(database)
        let hold = try #require(taken.first)
        #expect(hold.isReleased && hold.waived == [.retiredProduct] && hold.submission == first.submission)
        #expect(hold.identity == first.identity)
        #expect(try await take(database).isEmpty)
        let event = try await PostgresHolds(pool: database.pool).settle(
            decision(hold, Sample.judged(Sample.purchase("1000"))))
        #expect(event?.kind == .granted)
        #expect(try await database.number("SELECT count(*) FROM holds") == 0)
        #expect(try await database.number("SELECT count(*) FROM held_submissions") == 0)
        #expect(try await database.number("SELECT count(*) FROM outbox WHERE transaction_id = '1000'") == 1)
        #expect(
            try await database.number(
                "SELECT count(*) FROM hold_decisions WHERE decision = 'release' AND operator = 'ann'") == 1)
        let again = try await ledger.record(
            Sample.decision([held("1000")], offset: 2, submission: "s-0-1", proof: "proof player-1 0 1"))
        #expect(again.events.map(\.eventID) == [event?.eventID])
        let redelivered = try await ledger.record(first)
        #expect(redelivered.events.map(\.kind) == [.held])
        await ledger.close()
    }

    @Test("if a released hold's purchase is still unreadable, it stays held, with a note and without a purchase time")
    func unreadable() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        // Parsers of proofs replace a time that they cannot read by 0.
        var purchase = Sample.purchase("1000", at: Timestamp(milliseconds: 0))
        purchase.unreadable = ["quantity", "purchaseDate"]
        let judged = Sample.judged(purchase, .consumable, .hold(.unreadableTransaction))
        _ = try await ledger.record(Sample.decision([judged], offset: 1))
        let store = HoldAdministration(pool: database.pool)
        #expect(try await store.release(HoldFilter(id: "1000"), by: "ann") == 1)
        let hold = try #require(try await take(database).first)
        #expect(hold.evidence?.purchases.map(\.unreadable) == [["quantity", "purchaseDate"]])
        #expect(try await PostgresHolds(pool: database.pool).settle(decision(hold, judged)) == nil)
        let left = try await store.count(HoldFilter(id: "1000", reason: .unreadableTransaction))
        #expect(left.all == 1 && left.released == 0)
        let summary = try await store.list(HoldFilter(), limit: 10).first
        #expect(summary?.note == "receiptd cannot read these fields: quantity, purchaseDate")
        #expect(summary != nil && summary?.purchasedAt == nil, "no list may tell of 1970")
        let inspected = try await Inspection.of("1000", days: 1, limit: 10, in: database.pool)
        #expect(inspected.sections.first { $0.name == "holds" }?.rows.first?["purchased_at"] == .null)
        #expect(try await database.number("SELECT count(*) FROM grants") == 0)
        await ledger.close()
    }

    @Test("if an operator releases a leased hold, or the lease expires, the first worker can no longer settle the hold")
    func leases() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        _ = try await ledger.record(Sample.decision([held("1000")], offset: 1))
        let store = HoldAdministration(pool: database.pool)
        let outdated = try await take(database, catalogVersion: 2)
        let stale = try #require(outdated.first)
        #expect(try await store.release(HoldFilter(id: "1000"), by: "ann") == 1)
        let holds = PostgresHolds(pool: database.pool)
        // A worker with a stale lease must not undo the release.
        #expect(try await holds.settle(decision(stale, held("1000"), catalogVersion: 2)) == nil)
        try await holds.keepHeld([(hold: stale, reason: .retiredProduct)], catalogVersion: 2)
        try await holds.reschedule(stale, dueAfterSeconds: 1000)
        let dying = try #require(
            try await PostgresHolds(pool: database.pool, leaseSeconds: 0).leaseDue(
                catalogVersion: 2, limit: 10
            ).first)
        #expect(dying.isReleased)
        let next = try #require(try await take(database).first)
        #expect(try await holds.settle(decision(dying, Sample.judged(Sample.purchase("1000")))) == nil)
        #expect(try await holds.settle(decision(next, Sample.judged(Sample.purchase("1000"))))?.kind == .granted)
        #expect(try await holds.settle(decision(next, Sample.judged(Sample.purchase("1000")))) == nil)
        await ledger.close()
    }

    @Test("if an operator rejects a hold, other players can get the purchase, and the rejected player stays rejected")
    func reject() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let purchase = held("1000", kind: .nonConsumable)
        _ = try await ledger.record(Sample.decision([purchase], offset: 1))
        let store = HoldAdministration(pool: database.pool)
        let refused = try await store.reject(HoldFilter(id: "1000"), by: "ann", at: Sample.noon)
        #expect(refused.description == "1 rejected")
        #expect(try await database.number("SELECT count(*) FROM claims WHERE player_id IS NULL") == 1)
        #expect(try await ledger.record(Sample.decision([purchase], offset: 2)).reason == .refusedByOperator)
        let other = try await ledger.record(Sample.decision([purchase], player: "player-2", offset: 3))
        #expect(other.events.map(\.kind) == [.held])
        #expect(try await ledger.record(Sample.decision([purchase], offset: 4)).reason == .ownedByOtherPlayer)
        #expect(try await store.reject(HoldFilter(), by: "ann", at: Sample.noon).rejected == 1)
        #expect(try await ledger.record(Sample.decision([purchase], offset: 5)).reason == .refusedByOperator)
        let third = try await ledger.record(
            Sample.decision(
                [Sample.judged(purchase.purchase, .nonConsumable)], player: "player-3", offset: 6))
        #expect(third.granted.count == 1)
        #expect(
            try await database.number(
                "SELECT count(*) FROM outbox WHERE event IS NOT NULL AND convert_from(event, 'UTF8') LIKE '%refused_by%'"
            )
                == 4)
        #expect(try await database.number("SELECT count(*) FROM hold_decisions WHERE decision = 'reject'") == 2)
        await ledger.close()
    }

    @Test("if an operator rejects a held renewal, the subscription still belongs to its owner")
    func refusedRenewal() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let first = Sample.judged(Sample.purchase("1", original: "0"), .autoRenewableSubscription)
        _ = try await ledger.record(Sample.decision([first], offset: 1))
        let renewal = held("2", original: "0", kind: .autoRenewableSubscription)
        _ = try await ledger.record(Sample.decision([renewal], offset: 2))
        _ = try await HoldAdministration(pool: database.pool).reject(HoldFilter(), by: "ann", at: Sample.noon)
        let theirs = Sample.judged(Sample.purchase("3", original: "0"), .autoRenewableSubscription)
        let other = try await ledger.record(Sample.decision([theirs], player: "player-2", offset: 3))
        #expect(other.reason == .ownedByOtherPlayer)
        await ledger.close()
    }

    @Test(
        "if a held purchase's original changes, a grant claims the new original; the last hold's end frees the old one")
    func anotherOriginal() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let kind = ProductKind.autoRenewableSubscription
        _ = try await ledger.record(
            Sample.decision([held("2", original: "1", kind: kind), held("4", original: "1", kind: kind)], offset: 1))
        let theirs = Sample.judged(Sample.purchase("5", original: "6"), kind)
        _ = try await ledger.record(Sample.decision([theirs], player: "player-2", offset: 2))
        let store = HoldAdministration(pool: database.pool)
        #expect(try await store.release(HoldFilter(id: "2"), by: "ann") == 1)
        let first = try #require(try await take(database).first)
        let holds = PostgresHolds(pool: database.pool)
        let granted = try await holds.settle(decision(first, Sample.judged(Sample.purchase("2", original: "0"), kind)))
        #expect(granted?.kind == .granted)
        let claims = "SELECT count(*) FROM claims WHERE original_transaction_id = "
        #expect(try await database.number(claims + "'0' AND player_id = 'player-1'") == 1)
        // The other hold refers to original transaction 1.
        #expect(try await database.number(claims + "'1' AND player_id = 'player-1'") == 1)
        let later = Sample.judged(Sample.purchase("3", original: "0"), kind)
        let other = try await ledger.record(Sample.decision([later], player: "player-2", offset: 3))
        #expect(other.reason == .ownedByOtherPlayer)
        #expect(try await store.release(HoldFilter(id: "4"), by: "ann") == 1)
        let second = try #require(try await take(database).first)
        let refused = try await holds.settle(decision(second, Sample.judged(Sample.purchase("4", original: "6"), kind)))
        #expect(refused?.reason == .ownedByOtherPlayer)
        #expect(try await database.number(claims + "'1' AND player_id IS NULL") == 1)
        #expect(try await database.number(claims + "'6' AND player_id = 'player-2'") == 1)
        await ledger.close()
    }

    @Test("if an operator rejects two held transactions of one record, each rejection has an event")
    func twoOfOneRecord() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        _ = try await ledger.record(Sample.decision([held("1000"), held("1001")], offset: 1))
        let store = HoldAdministration(pool: database.pool)
        _ = try await store.reject(HoldFilter(id: "1000"), by: "ann", at: Sample.noon)
        #expect(try await database.number("SELECT count(*) FROM held_submissions") == 1)
        _ = try await store.reject(HoldFilter(id: "1001"), by: "ann", at: Sample.noon)
        #expect(try await database.number("SELECT count(*) FROM outbox") == 3)
        #expect(try await database.number("SELECT count(*) FROM held_submissions") == 0)
        await ledger.close()
    }

    @Test("a worker leases a hold only under a catalog that is newer than the last catalog that kept the hold")
    func catalogs() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        for offset in 1...5 {
            _ = try await ledger.record(Sample.decision([held("\(offset)")], offset: Int64(offset)))
        }
        let holds = PostgresHolds(pool: database.pool)
        let some = try await take(database, catalogVersion: 2, limit: 3)
        #expect(some.count == 3)
        #expect(some.allSatisfy { $0.evidence?.purchases.first?.transactionID == $0.transactionID })
        try await holds.keepHeld(some.map { ($0, .currencyNotAllowed) }, catalogVersion: 3)
        let rest = try await take(database, catalogVersion: 2)
        #expect(rest.count == 2)
        try await holds.keepHeld(rest.map { ($0, .retiredProduct) }, catalogVersion: 2)
        #expect(try await take(database, catalogVersion: 2).isEmpty)
        #expect(try await take(database, catalogVersion: 3).count == 2)
        #expect(try await database.number("SELECT count(*) FROM holds WHERE reason = 'currency_not_allowed'") == 3)
        #expect(try await database.number("SELECT max(catalog_version) FROM holds") == 3)
        // A worker with an older catalog leaves the newer catalog's version in the rows.
        let newer = try await take(database, catalogVersion: 4)
        #expect(newer.map(\.transactionID).sorted() == some.map(\.transactionID).sorted())
        try await holds.keepHeld(newer.map { ($0, .currencyNotAllowed) }, catalogVersion: 2)
        #expect(
            try await database.number("SELECT count(*) FROM holds WHERE catalog_version = 3 AND leased_until IS NULL")
                == 3)
        #expect(try await LedgerCounts.read(from: database.pool).held == 5)
        await ledger.close()
    }

    @Test("if workers settle released holds while an operator rejects them, each hold ends exactly once")
    func race() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let count = 60
        _ = try await recordAll(
            (0..<count).map { Sample.decision([held("\($0)", kind: .nonConsumable)], offset: Int64($0)) }, in: ledger)
        let pool = LedgerDatabase.pool(database.uri, size: 6)
        let store = HoldAdministration(pool: pool)
        #expect(try await store.release(HoldFilter(), by: "ann") == count)
        let holds = PostgresHolds(pool: pool)
        let (granted, refused) = try await withThrowingTaskGroup(of: (Int, Int).self) { group in
            for _ in 0..<3 {
                group.addTask {
                    var granted = 0
                    while true {
                        let taken = try await holds.leaseDue(catalogVersion: 1, limit: 7)
                        if taken.isEmpty { return (granted, 0) }
                        for hold in taken {
                            let judged = Sample.judged(Sample.purchase(hold.transactionID.text), .nonConsumable)
                            if try await holds.settle(decision(hold, judged)) != nil { granted += 1 }
                        }
                    }
                }
            }
            group.addTask { (0, try await store.reject(HoldFilter(), by: "bob", at: Sample.noon).rejected) }
            return try await group.reduce((0, 0)) { ($0.0 + $1.0, $0.1 + $1.1) }
        }
        #expect(granted + refused == count)
        #expect(try await database.number("SELECT count(*) FROM grants") == granted)
        #expect(try await database.number("SELECT count(*) FROM refusals") == refused)
        #expect(try await database.number("SELECT count(*) FROM holds") == 0)
        #expect(try await database.number("SELECT count(*) FROM claims WHERE player_id IS NOT NULL") == granted)
        await ledger.close()
        await pool.close()
    }
}
