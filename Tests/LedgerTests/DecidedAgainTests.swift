import Fulfillment
import NamesAndTimes
import Postgres
import TestSupport
import Testing

@testable import Ledger

/// The database was restored to an earlier state. The game may have handed out goods of a grant that the database lost.
@Suite("Records that a worker decides again after the database fell back")
struct DecidedAgainTests {
    private func decision(
        _ purchase: StorePurchase, _ kind: ProductKind = .consumable, offset: Int64, player: String = "player-1",
        verdict: JudgedPurchase.Verdict = .grant(payload: nil), isDecidedAgain: Bool = true
    ) -> PendingDecision {
        Sample.decision(
            .each([Sample.judged(purchase, kind, verdict)]), player: player, offset: offset,
            isDecidedAgain: isDecidedAgain)
    }

    @Test("if a lost decision is made again, the worker grants a refunded purchase, and revokes it immediately")
    func refunded() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let refunds = RefundTests()
        #expect(try await refunds.apply(refunds.received(.refund, of: "1000"), in: database) == ["remembered"])
        let granted = try await ledger.record(decision(Sample.purchase("1000"), offset: 1)).events
        #expect(granted.map(\.kind) == [.granted, .revoked])
        var shown = Sample.purchase("1001")
        shown.cancelledAt = Sample.noon
        #expect(
            try await ledger.record(decision(shown, offset: 2)).events.map(\.kind) == [.granted, .revoked])
        #expect(
            try await database.number("SELECT count(*) FROM grants WHERE revoked_at IS NOT NULL AND revision = 2") == 2)
        #expect(try await database.number("SELECT count(*) FROM outbox") == 4)
        // A replay of the record gets the stored grant event, and the revocation waits in the outbox.
        let again = try await ledger.record(decision(Sample.purchase("1000"), offset: 1)).events
        #expect(again.map(\.eventID) == granted.prefix(1).map(\.eventID))
        #expect(
            try await ledger.record(decision(Sample.purchase("1000"), offset: 3, isDecidedAgain: false)).reason
                == .cancelled)
        #expect(
            try await refunds.apply(refunds.received(.reversal, of: "1000", after: 5), in: database) == ["reinstated"])
        await ledger.close()
    }

    @Test("if two lost grants are decided again and an answer shows a refund, the original is revoked, its copy is not")
    func shownNext() async throws {
        let database = try await LedgerDatabase()
        let claims = PostgresClaims(pool: database.pool)
        for id in ["1000", "1001"] {
            try await claims.enter(
                PublishedClaim.claims(
                    of: Identifier(id), under: "1000", period: nil, playerID: "player-1", bundleID: Sample.bundle))
        }
        let original = Sample.judged(Sample.purchase("1000"), .nonConsumable, .grant(payload: nil))
        let copy = Sample.judged(Sample.purchase("1001", original: "1000"), .nonConsumable, .grant(payload: nil))
        var taken = Sample.purchase("1002", original: "1000")
        taken.cancelledAt = Sample.noon.adding(milliseconds: 60_000)
        let refunded = Sample.judged(taken, .nonConsumable, .reject(.cancelled))
        let batch = DecisionBatch([
            Sample.decision(.each([original]), offset: 1, isDecidedAgain: true),
            Sample.decision(.each([original, copy, refunded]), offset: 2, isDecidedAgain: true),
        ])
        try await database.pool.run { session in
            try session.transaction { session in
                _ = try DecisionBatchWrite(batch: batch, lookUp: .underOldClaims, acknowledged: [], writer: 0)
                    .write(in: session)
            }
        }
        #expect(
            try await database.number(
                "SELECT count(*) FROM grants WHERE transaction_id = '1000' AND revoked_at IS NOT NULL")
                == 1)
        #expect(
            try await database.number(
                "SELECT count(*) FROM grants WHERE transaction_id = '1001' AND revoked_at IS NULL") == 1)
        #expect(try await database.number("SELECT count(*) FROM outbox") == 3)
    }

    @Test(
        "if a record with a reversed refund is decided again, the purchase is granted, and reinstated with revision 2")
    func reversed() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let refunds = RefundTests()
        for id in ["1000", "1001"] {
            for word in [refunds.received(.refund, of: id), refunds.received(.reversal, of: id, after: 5)] {
                #expect(try await refunds.apply(word, in: database) == ["remembered"])
            }
        }
        let both = try await ledger.record(decision(Sample.purchase("1000"), offset: 1)).events
        #expect(both.map(\.kind) == [.granted, .reinstated])
        #expect(
            try await database.number("SELECT count(*) FROM grants WHERE revoked_at IS NULL AND revision = 2") == 1)
        let first = decision(Sample.purchase("1001"), offset: 2, isDecidedAgain: false)
        #expect(try await ledger.record(first).events.map(\.kind) == [.granted])
        await ledger.close()
    }

    @Test("a refunded purchase is rejected at its record's first decision, or if the rules do not grant the purchase")
    func cancelled() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let refunds = RefundTests()
        let notices = ["1000", "1001", "1002"].map { refunds.received(.refund, of: $0) }
        for notice in notices { #expect(try await refunds.apply(notice, in: database) == ["remembered"]) }
        let first = decision(Sample.purchase("1000"), offset: 1, isDecidedAgain: false)
        #expect(try await ledger.record(first).reason == .cancelled)
        let held = decision(Sample.purchase("1001"), offset: 2, verdict: .hold(.retiredProduct))
        #expect(try await ledger.record(held).reason == .cancelled)
        let refused = decision(Sample.purchase("1002"), offset: 3, verdict: .reject(.familyShared))
        #expect(try await ledger.record(refused).reason == .cancelled)
        #expect(try await database.number("SELECT count(*) FROM grants") == 0)
        await ledger.close()
    }

    @Test("if a refunded non-consumable was granted and immediately revoked, the player can buy it again and get it")
    func nonConsumable() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let refunds = RefundTests()
        let notice = refunds.received(.refund, of: "1000", kind: .nonConsumable)
        #expect(try await refunds.apply(notice, in: database) == ["remembered"])
        let both = try await ledger.record(decision(Sample.purchase("1000"), .nonConsumable, offset: 1)).events
        #expect(both.map(\.kind) == [.granted, .revoked])
        let bought = Sample.purchase("1001", original: "1000", at: Sample.noon.adding(milliseconds: 60_000))
        let later = try await ledger.record(decision(bought, .nonConsumable, offset: 2, isDecidedAgain: false))
        #expect(later.granted.count == 1)
        await ledger.close()
    }

    @Test(
        "if a record is decided again, revoking a refunded purchase does not stop the grant of another purchase",
        arguments: [ProductKind.consumable, .nonConsumable, .autoRenewableSubscription])
    func othersOfTheReceipt(kind: ProductKind) async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let isConsumable = kind == .consumable
        var refunded = Sample.purchase("1000")
        refunded.cancelledAt = Sample.noon
        var paid = Sample.purchase(
            "1001", original: isConsumable ? nil : "1000", at: Sample.noon.adding(milliseconds: 60_000))
        if kind == .autoRenewableSubscription {
            refunded.expiresAt = Sample.noon.adding(milliseconds: 86_400_000)
            paid.expiresAt = refunded.expiresAt
        }
        let judged = [refunded, paid].map {
            JudgedPurchase(
                purchase: $0, kind: kind, verdict: .grant(payload: nil), dailyLimit: isConsumable ? 1 : nil)
        }
        let both = try await ledger.record(Sample.decision(.each(judged), offset: 1, isDecidedAgain: true)).events
        #expect(both.map(\.kind) == [.granted, .granted, .revoked])
        #expect(
            try await database.number(
                "SELECT count(*) FROM grants WHERE revoked_at IS NULL AND transaction_id = '1001'")
                == 1)
        // This count leaves out the claims of a subscription's periods.
        let claimed = try await database.number(
            "SELECT count(*) FROM claims WHERE granted_transaction_id = '1001' AND original_transaction_id NOT LIKE 'period %'"
        )
        #expect(claimed == (kind == .nonConsumable ? 1 : 0))
        await ledger.close()
    }

    @Test("if Apple announced a refunded purchase before a fall-back, it is granted and revoked, even after a refusal")
    func announced() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let subject = AnnouncedSubject(database, ledger)
        try await subject.setGrantsSince(Sample.noon)
        try await subject.tell(isOf: AnnouncedSubject.player)
        for id in ["1000", "1001", "1002"] {
            try await subject.apply(.revoked(.refund, at: Sample.noon), of: id, id: Identifier("refund of \(id)"))
        }
        try await subject.enter([try AnnouncedSubject.told("1000")])
        try await subject.endPatience()
        #expect(try await subject.deliver() == ["refused cancelled"])
        let checkpoints = PostgresCheckpoints(pool: database.pool, group: "receiptd")
        try await checkpoints.keepDecidedAgain([0: 1], topic: Sample.topic)
        try await subject.enter([try AnnouncedSubject.told("1001"), try AnnouncedSubject.told("1002")])
        // Apple signed the announcement of 1002 a day after the database fell back.
        try await database.run(
            "UPDATE announced_purchases SET signed_at = now() + interval '1 day' WHERE transaction_id = '1002'")
        try await subject.endPatience()
        #expect(try await subject.deliver() == ["granted", "granted", "refused cancelled"])
        #expect(
            try await database.number(
                "SELECT count(*) FROM grants WHERE revoked_at IS NOT NULL AND revision > 1000000") == 2)
        #expect(try await database.number("SELECT count(*) FROM grants") == 2)
        await ledger.close()
    }

    @Test(
        "if a refunded purchase was held before the database fell back, its release grants the purchase and revokes it")
    func held() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let subject = AnnouncedSubject(database, ledger)
        for (offset, id) in ["1000", "1001"].enumerated() {
            let held = decision(
                Sample.purchase(id), offset: Int64(offset), verdict: .hold(.retiredProduct), isDecidedAgain: false)
            #expect(try await ledger.record(held).reason == .retiredProduct)
            try await subject.apply(.revoked(.refund, at: Sample.noon), of: id, id: Identifier("refund of \(id)"))
        }
        let checkpoints = PostgresCheckpoints(pool: database.pool, group: "receiptd")
        try await checkpoints.keepDecidedAgain([0: 1], topic: Sample.topic)
        // The hold of 1001 began a day after the database fell back.
        try await database.run("UPDATE holds SET held_at = now() + interval '1 day' WHERE transaction_id = '1001'")
        for id in ["1000", "1001"] { try await subject.release(StoreTransactionID(id)) }
        let holds = try await subject.holds.leaseDue(catalogVersion: 1, limit: 5)
        #expect(holds.count == 2)
        for hold in holds {
            let isFirst = hold.transactionID == "1000"
            #expect(hold.isDecidedAgain == isFirst)
            let released = HoldDecision(
                hold, verdict: .each([Sample.judged(Sample.purchase(hold.transactionID.text))]),
                environment: .production, decidedAt: Sample.noon, catalogVersion: 1)
            let kind = isFirst ? OutcomeEvent.Kind.granted : .rejected
            #expect(try await subject.holds.settle(released)?.kind == kind)
        }
        #expect(try await database.number("SELECT count(*) FROM grants WHERE revoked_at IS NOT NULL") == 1)
        #expect(try await database.number(LedgerDatabase.handedOver) == 1)
        await ledger.close()
    }

    @Test("a parked submission counts as decided again if the lost decisions cover the record's offset and timestamp")
    func parked() async throws {
        try await withParking { database, store in
            let checkpoints = PostgresCheckpoints(pool: database.pool, group: "receiptd")
            try await checkpoints.keepDecidedAgain([0: 12], topic: Sample.topic)
            for offset in [11, 12] as [Int64] { try await store.park(Sample.parking(offset)) }
            let leased = try await store.leaseDue(limit: 10)
            #expect(leased.map { [$0.position.offset: $0.isDecidedAgain] } == [[11: true], [12: false]])
            for one in leased { try await store.endLease(of: one) }
            // Records of a recreated topic have offsets as low as the lost offsets, but later timestamps.
            let lost = LostDecisions(belowOffset: 12, noticedAt: Sample.noon)
            for milliseconds in [0, 1] {
                let sentAt = lost.noticedAt.adding(milliseconds: LostDecisions.clockMargin + Int64(milliseconds))
                try await database.run("UPDATE offsets_decided_again SET fell_back_at = '\(lost.noticedAt.rfc3339)'")
                try await database.run("UPDATE parked SET source_timestamp = '\(sentAt.rfc3339)'")
                let leased = try await store.leaseDue(limit: 10)
                #expect(leased.map(\.isDecidedAgain) == [lost.mayCover(offset: 11, sentAt: sentAt), false])
                #expect(lost.mayCover(offset: 11, sentAt: sentAt) == (milliseconds == 0))
                for one in leased { try await store.endLease(of: one) }
            }
        }
    }

    @Test("after each fall-back of the database, a subscription's revisions exceed all that can have been published")
    func revisions() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let subject = FollowedSubscriptionsConformance.Subject(database, ledger)
        let revision = "SELECT revision FROM subscriptions WHERE original_transaction_id = '1000'"
        let above = "SELECT max(revisions_above) FROM offsets_decided_again"
        _ = try await subject.grant("1000", original: "1000", at: 0, offset: 1)
        _ = try await subject.grant("1001", original: "1000", at: 30, offset: 2)
        #expect(try await database.number(revision) == 2)
        let checkpoints = PostgresCheckpoints(pool: database.pool, group: "receiptd")
        try await checkpoints.keepDecidedAgain([0: 3], topic: Sample.topic)
        // The update moves the fall-back one minute into the past.
        let earlier = "fell_back_at = now() - interval '1 minute', revisions_above = revisions_above - 60"
        try await database.run("UPDATE subscriptions SET updated_at = now() - interval '2 minutes'")
        try await database.run("UPDATE offsets_decided_again SET \(earlier)")
        let first = Int32(try await database.number(above))
        #expect(first > 1_000_000)
        let changed = try await subject.grant("1002", original: "1000", at: 60, offset: 3)
        #expect(
            changed.events.last?.eventID == OutcomeEvent.eventID(subscription: "1000", revision: first + 1))
        _ = try await subject.grant("1003", original: "1000", at: 90, offset: 4)
        #expect(try await database.number(revision) == Int(first) + 2)
        // The database falls back a second time, with a lower offset. It loses the events since the first fall-back
        // too.
        try await database.run("UPDATE subscriptions SET revision = 2, updated_at = now() - interval '2 minutes'")
        try await checkpoints.keepDecidedAgain([0: 2], topic: Sample.topic)
        let second = try await database.number(above)
        #expect(second > Int(first) + 2)
        _ = try await subject.grant("1004", original: "1000", at: 120, offset: 5)
        #expect(try await database.number(revision) == second + 1)
        await ledger.close()
    }

    @Test(
        "a subscription created after a database falls back starts with a revision above all revisions that were lost")
    func firstRevision() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let subject = FollowedSubscriptionsConformance.Subject(database, ledger)
        let checkpoints = PostgresCheckpoints(pool: database.pool, group: "receiptd")
        try await checkpoints.keepDecidedAgain([0: 3], topic: Sample.topic)
        let above = try await database.number("SELECT revisions_above FROM offsets_decided_again")
        _ = try await subject.grant("1000", original: "1000", at: 0, offset: 1)
        #expect(try await database.number("SELECT revision FROM subscriptions") == above + 1)
        await ledger.close()
    }
}
