import Fulfillment
import NamesAndTimes
import TestSupport
import Testing

@testable import BackOffice
@testable import Ledger

@Suite("Announced purchases whose refund another answer of Apple shows, in PostgreSQL")
struct ShownRefundTests {
    private typealias Subject = AnnouncedSubject

    private static func shown(_ id: String, after seconds: Int64 = 60) -> NotifiedTransaction {
        var purchase = Sample.purchase(id)
        purchase.cancelledAt = Sample.noon.adding(milliseconds: 1000 * seconds)
        return NotifiedTransaction(
            purchase: purchase, kind: .consumable, bundleID: Sample.bundle, environment: .production)
    }

    private func show(_ refunds: [NotifiedTransaction], offset: Int64 = 1, in subject: Subject) async throws {
        let decision = Sample.decision(
            .whole(.productMismatch, []), player: "player-2", offset: offset, shown: refunds)
        _ = try await subject.ledger.record(decision)
    }

    @Test(
        "if an answer shows an announced purchase's refund, the purchase is granted only if Apple's reversal is newer")
    func reversed() async throws {
        try await Subject.withPlayer { subject, database in
            try await subject.enter([try Subject.told("1000"), try Subject.told("1001")])
            for (offset, id) in ["1000", "1001"].enumerated() {
                try await subject.apply(
                    .reversed, of: id, id: Identifier("reversal of \(id)"),
                    signedAt: Sample.noon.adding(milliseconds: 30_000))
                try await show([Self.shown(id, after: id == "1000" ? 20 : 60)], offset: Int64(offset), in: subject)
            }
            try await subject.endPatience()
            #expect(try await subject.deliver() == ["granted", "refused cancelled"])
            #expect(try await database.number("SELECT count(*) FROM refunds WHERE revoked_at IS NOT NULL") == 0)
            // The notification of 1001's reversal comes late.
            try await subject.apply(
                .reversed, of: "1001", id: "late", signedAt: Sample.noon.adding(milliseconds: 90_000))
            #expect(try await subject.deliver() == ["granted"])
        }
    }

    @Test("if Apple's answer about a hold shows an announced purchase's refund, the announced purchase is refused")
    func held() async throws {
        try await Subject.withPlayer { subject, database in
            try await subject.enter([try Subject.told("1000")])
            let held = Sample.judged(Sample.purchase("2000"), .consumable, .hold(.retiredProduct))
            _ = try await subject.ledger.record(Sample.decision([held], offset: 1))
            try await subject.release("2000")
            let hold = try #require(try await subject.holds.leaseDue(catalogVersion: 1, limit: 1).first)
            let end = HoldDecision(
                hold, verdict: .each([Sample.judged(Sample.purchase("2000"))]), environment: .production,
                decidedAt: Sample.noon, catalogVersion: 1, shown: [Self.shown("1000")])
            #expect(try await subject.holds.settle(end)?.kind == .granted)
            try await subject.endPatience()
            #expect(try await subject.deliver() == ["refused cancelled"])
        }
    }

    @Test("if Apple's answer about a subscription shows an announced purchase's refund, the purchase is refused")
    func subscriptionChecked() async throws {
        try await Subject.withPlayer { subject, database in
            try await subject.enter([try Subject.told("1000")])
            let ledger = database.ledger()
            let followed = FollowedSubscriptionsConformance.Subject(database, ledger)
            _ = try await followed.grant("3000", original: "3000", at: -60, offset: 1)
            let leased = try #require(try await followed.lease().first)
            var refunded = Sample.purchase("1000")
            refunded.cancelledAt = Sample.noon.adding(milliseconds: 60_000)
            let answer = GenuineReceipt(bundleID: Sample.bundle, environment: .production, purchases: [refunded])
            let findings = SubscriptionFindings(
                answer, of: leased.subscription, under: FollowedSubscriptionsConformance.app(hasServerAPI: false),
                now: Sample.noon)
            _ = try await followed.subscriptions.settle(
                SubscriptionCheck(leased, findings, at: Sample.noon), catalog: FollowedSubscriptionsConformance.catalog)
            try await subject.endPatience()
            #expect(try await subject.deliver() == ["refused cancelled"])
            await ledger.close()
        }
    }

    @Test("a refund in Apple's answer does not change announced purchases that are suspected of killing workers")
    func suspects() async throws {
        try await Subject.withPlayer { subject, database in
            try await subject.enter(try (1000...1003).map { try Subject.told("\($0)") })
            try await database.run(
                """
                UPDATE announced_purchases
                SET leased_until = now() + interval '1 minute', takes = transaction_id::int - 999,
                    is_alone = transaction_id = '1003', deaths_alone = 2;
                UPDATE announced_purchases SET state = 'unclaimed', reason = 'crashed', due_at = NULL, takes = 0
                WHERE transaction_id = '1000'
                """)
            let before = "SELECT transaction_id, evidence, takes, is_alone, deaths_alone FROM announced_purchases"
            try await database.run("CREATE TABLE before AS \(before)")
            try await show((1000...1003).map { Self.shown("\($0)") }, in: subject)
            let changed = """
                SELECT sum(told.transaction_id::int) FROM announced_purchases AS told JOIN before USING (transaction_id)
                WHERE told.evidence <> before.evidence AND told.leased_until IS NULL
                """
            #expect(try await database.number(changed) == 1001)
            let counts = """
                SELECT count(*) FROM announced_purchases AS told
                JOIN before USING (transaction_id, takes, is_alone, deaths_alone)
                """
            #expect(try await database.number(counts) == 4)
            #expect(
                try await database.number("SELECT count(*) FROM announced_purchases WHERE leased_until IS NULL") == 1)
        }
    }

    @Test("if a refunded announced purchase's grant was lost, it waits for Apple's answer, then is granted and revoked")
    func lostGrant() async throws {
        try await Subject.withPlayer { subject, database in
            let asking = Subject.catalog {
                $0.serverAPI = ServerAPICredentials(issuerID: "i", keyID: "k", privateKeySetting: "S")
            }
            try await subject.enter([try Subject.told("1000")])
            try await subject.endPatience()
            try await PostgresCheckpoints(pool: database.pool, group: "receiptd")
                .keepDecidedAgain([0: 1], topic: Sample.topic)
            try await subject.claims.enter([
                PublishedClaim("1000", of: Subject.player, in: Sample.bundle, published: "1000")
            ])
            let leased = try await subject.announced.leaseDue(under: asking, limit: 1)
            #expect(try await subject.announced.deliver(leased, under: asking, at: Sample.noon).isEmpty)
            let asked = leased.map { $0.told(Self.shown("1000")) }
            let outcomes = try await subject.announced.deliver(asked, under: asking, at: Sample.noon)
            #expect(outcomes.flatMap(\.owned).map(\.kind) == [.granted, .revoked])
        }
    }
}
