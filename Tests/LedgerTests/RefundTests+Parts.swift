import Fulfillment
import NamesAndTimes
import Postgres
import Testing

@testable import BackOffice
@testable import Ledger

extension RefundTests {
    private func part(_ milliPercent: Int32?, of id: String, after seconds: Int64, quantity: Int32) -> ReceivedNotice {
        var purchase = Sample.purchase(id)
        purchase.quantity = quantity
        let signedAt = Sample.noon.adding(milliseconds: 1000 * seconds)
        let refund = RefundNotice(
            id: Identifier("part \(id) \(seconds)"), change: .revoked(.refund, at: signedAt), signedAt: signedAt,
            transaction: NotifiedTransaction(
                purchase: purchase, kind: .consumable, bundleID: Sample.bundle, environment: .production,
                refundedMilliPercent: milliPercent))
        return ReceivedNotice(
            StoreNotice(refund, type: "REFUND", id: Identifier("part \(id) \(seconds)")),
            topic: "app-store-notifications", partition: 2, traceparent: nil, decidedAt: Sample.noon)
    }

    private func decision(_ id: String, quantity: Int32, offset: Int64) -> PendingDecision {
        var purchase = Sample.purchase(id)
        purchase.quantity = quantity
        return Sample.decision([Sample.judged(purchase)], offset: offset)
    }

    @Test("a larger partial refund revokes more units, and a repeated or smaller partial refund changes nothing")
    func parts() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        _ = try await ledger.record(decision("1000", quantity: 3, offset: 1))
        let effects = try await apply(
            part(33_333, of: "1000", after: 1, quantity: 3), part(33_333, of: "1000", after: 2, quantity: 3),
            part(66_667, of: "1000", after: 3, quantity: 3), part(33_333, of: "1000", after: 4, quantity: 3),
            in: database)
        #expect(effects == ["revoked", "remembered", "revoked", "remembered"])
        let units = "SELECT count(*) FROM grants WHERE revoked_units = 2 AND revoked_at IS NOT NULL AND revision = 3"
        #expect(try await database.number(units) == 1)
        // Some units remain, so the player still has the grant.
        #expect(try await ledger.record(decision("1000", quantity: 3, offset: 2)).reason == .alreadyGranted)
        #expect(try await apply(part(nil, of: "1000", after: 5, quantity: 3), in: database) == ["revoked"])
        #expect(try await database.number("SELECT count(*) FROM grants WHERE revoked_units = 3 AND revision = 4") == 1)
        #expect(try await ledger.record(decision("1000", quantity: 3, offset: 3)).reason == .cancelled)
        #expect(try await apply(received(.reversal, of: "1000", after: 6), in: database) == ["reinstated"])
        let inForce = "SELECT count(*) FROM grants WHERE revoked_units IS NULL AND apple_revoked_milli_percent IS NULL"
        #expect(try await database.number(inForce) == 1)
        await ledger.close()
    }

    @Test("units refunded before the grant are revoked after the grant; a purchase with no unit left is rejected")
    func partBeforeTheGrant() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        #expect(try await apply(part(66_667, of: "1000", after: 1, quantity: 3), in: database) == ["remembered"])
        let outcome = try await ledger.record(decision("1000", quantity: 3, offset: 1))
        #expect(outcome.events.map(\.kind) == [.granted, .revoked])
        #expect(outcome.events.last?.eventID == OutcomeEvent.eventID(.revoked, transaction: "1000", revision: 2))
        let inPart = "SELECT count(*) FROM grants WHERE revoked_units = 2 AND revision = 2 AND revoked_at IS NOT NULL"
        #expect(try await database.number(inPart) == 1)
        #expect(try await database.number("SELECT count(*) FROM outbox") == 2)
        // A partial refund of a single unit leaves no unit.
        #expect(try await apply(part(33_333, of: "1001", after: 1, quantity: 1), in: database) == ["remembered"])
        #expect(try await ledger.record(decision("1001", quantity: 1, offset: 2)).reason == .cancelled)
        await ledger.close()
    }

    @Test("if an original is refunded, before or after the import of its restored copy, the copy's grant is revoked")
    func importedCopy() async throws {
        let database = try await LedgerDatabase()
        func copy(_ id: String, of original: String) -> ImportedGrant {
            ImportedGrant(
                line: 1, transactionID: Identifier(id), originalTransactionID: Identifier(original),
                playerID: "player-1", bundleID: Sample.bundle, productID: "gold", quantity: 1, environment: .production,
                purchasedAt: Sample.noon, expiresAt: nil, revokedAt: nil, grantedAt: Sample.noon, submissionID: "import"
            )
        }
        let importing = GrantImport(pool: database.pool)
        _ = try await importing.enter([copy("1001", of: "1000")])
        let later = try await apply(received(.refund, of: "1000", kind: .nonConsumable, after: 1), in: database)
        let earlier = try await apply(received(.refund, of: "2000", kind: .nonConsumable, after: 1), in: database)
        #expect(later == ["revoked"] && earlier == ["remembered"])
        _ = try await importing.enter([copy("2001", of: "2000")])
        #expect(try await database.number("SELECT count(*) FROM grants WHERE revoked_at IS NOT NULL") == 2)
    }

    @Test("if Apple's answers show a revocation repeatedly, it takes effect once, and not again after a reversal")
    func shown() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        _ = try await ledger.record(decision("1000", offset: 1))
        var purchase = Sample.purchase("1000")
        purchase.cancelledAt = Sample.noon
        func resubmitted(_ offset: Int64) -> PendingDecision {
            Sample.decision([Sample.judged(purchase, .consumable, .reject(.cancelled))], offset: offset)
        }
        #expect(try await ledger.record(resubmitted(2)).events.map(\.kind) == [.revoked, .rejected])
        #expect(try await ledger.record(resubmitted(3)).events.map(\.kind) == [.rejected])
        #expect(try await apply(received(.refund, of: "1000", after: 1), in: database) == ["remembered"])
        #expect(try await apply(received(.reversal, of: "1000", after: 2), in: database) == ["reinstated"])
        #expect(try await ledger.record(resubmitted(4)).events.map(\.kind) == [.rejected])
        #expect(try await database.number("SELECT count(*) FROM grants WHERE revoked_at IS NULL AND revision = 3") == 1)
        await ledger.close()
    }

    @Test(
        "after a reversal, a restored copy that shows the old refund revokes nothing; one with a newer refund does",
        arguments: ["1000", "1001"])
    func shownByRestored(granted: String) async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        func submitted(_ id: String, cancelledAfter seconds: Int64?, offset: Int64) -> PendingDecision {
            var purchase = Sample.purchase(id, original: "1000")
            purchase.cancelledAt = seconds.map { Sample.noon.adding(milliseconds: 1000 * $0) }
            let verdict: JudgedPurchase.Verdict = seconds == nil ? .grant(payload: nil) : .reject(.cancelled)
            return Sample.decision([Sample.judged(purchase, .nonConsumable, verdict)], offset: offset)
        }
        _ = try await ledger.record(submitted(granted, cancelledAfter: nil, offset: 1))
        #expect(try await apply(received(.refund, of: "1000", kind: .nonConsumable), in: database) == ["revoked"])
        let reversal = received(.reversal, of: "1000", kind: .nonConsumable, after: 2)
        #expect(try await apply(reversal, in: database) == ["reinstated"])
        for (offset, copy) in ["1001", "1002"].enumerated() {
            let old = try await ledger.record(submitted(copy, cancelledAfter: 0, offset: Int64(2 + offset)))
            #expect(old.events.map(\.kind) == [.rejected])
        }
        let later = try await ledger.record(submitted("1003", cancelledAfter: 3, offset: 4))
        #expect(later.events.map(\.kind) == [.revoked, .rejected])
        await ledger.close()
    }

    @Test("if Apple's answer about a rejected submission or a hold also shows a refund, the refunded grant is revoked")
    func shownBeside() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        for id in 1000...1002 { _ = try await ledger.record(decision("\(id)", offset: Int64(id))) }
        let held = Sample.judged(Sample.purchase("2000"), .consumable, .hold(.retiredProduct))
        _ = try await ledger.record(Sample.decision([held], offset: 1))
        func shown(_ id: String) -> NotifiedTransaction {
            var purchase = Sample.purchase(id)
            purchase.cancelledAt = Sample.noon
            return NotifiedTransaction(
                purchase: purchase, kind: .consumable, bundleID: Sample.bundle, environment: .production)
        }
        let whole = Sample.decision(.whole(.productMismatch, []), offset: 2, shown: [shown("1000"), shown("1009")])
        #expect(try await ledger.record(whole).events.map(\.kind) == [.revoked, .rejected])
        let another = Sample.decision([Sample.judged(Sample.purchase("1001"))], offset: 3, shown: [shown("1001")])
        #expect(try await ledger.record(another).events.map(\.kind) == [.revoked, .rejected])

        _ = try await HoldAdministration(pool: database.pool).release(HoldFilter(), by: "ann")
        let holds = PostgresHolds(pool: database.pool)
        let hold = try #require(try await holds.leaseDue(catalogVersion: 1, limit: 1).first)
        let end = HoldDecision(
            hold, verdict: .each([Sample.judged(Sample.purchase("2000"))]), environment: .production,
            decidedAt: Sample.noon, catalogVersion: 1, shown: [shown("1002")])
        #expect(try await holds.settle(end)?.kind == .granted)
        #expect(try await database.number(LedgerDatabase.handedOver) == 1)
        let revoked = "SELECT count(*) FROM grants WHERE revoked_at IS NOT NULL AND revision = 2"
        #expect(try await database.number(revoked) == 3)
        #expect(try await database.number("SELECT count(*) FROM grants") == 4)
        await ledger.close()
    }

    @Test("if one batch or one hold grants a purchase and shows the purchase's refund, the grant is revoked as well")
    func shownWithItsGrant() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        func shown(_ id: String) -> NotifiedTransaction {
            var purchase = Sample.purchase(id)
            purchase.cancelledAt = Sample.noon
            return NotifiedTransaction(
                purchase: purchase, kind: .consumable, bundleID: Sample.bundle, environment: .production)
        }
        let batch = DecisionBatch([
            decision("1000", offset: 1),
            Sample.decision(.whole(.productMismatch, []), player: "player-2", offset: 2, shown: [shown("1000")]),
            Sample.decision([Sample.judged(Sample.purchase("1001"))], offset: 3, shown: [shown("1001")]),
        ])
        let written = try await database.pool.run { session in
            try session.transaction { session in
                try DecisionBatchWrite(batch: batch, lookUp: .underOldClaims, acknowledged: [], writer: 1)
                    .write(in: session)
            }
        }
        #expect(written.events.map { $0.map(\.kind) } == [[.granted], [.rejected, .revoked], [.granted, .revoked]])

        let held = Sample.judged(Sample.purchase("2000"), .consumable, .hold(.retiredProduct))
        _ = try await ledger.record(Sample.decision([held], offset: 4))
        _ = try await HoldAdministration(pool: database.pool).release(HoldFilter(), by: "ann")
        let holds = PostgresHolds(pool: database.pool)
        let hold = try #require(try await holds.leaseDue(catalogVersion: 1, limit: 1).first)
        let end = HoldDecision(
            hold, verdict: .each([Sample.judged(Sample.purchase("2000"))]), environment: .production,
            decidedAt: Sample.noon, catalogVersion: 1, shown: [shown("2000")])
        #expect(try await holds.settle(end)?.kind == .granted)
        let revoked = "SELECT count(*) FROM grants WHERE revoked_at IS NOT NULL AND revision = 2"
        #expect(try await database.number(revoked) == 3)
        await ledger.close()
    }

    @Test("Apple's reversal of a refund leaves an operator's revocation in force")
    func operatorsRevocation() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        _ = try await ledger.record(decision("1000", offset: 1))
        try await database.run(
            "UPDATE grants SET operator_revoked_at = now(), revoked_at = now(), revoked_units = 1, revision = 2")
        #expect(try await apply(received(.refund, of: "1000", after: 1), in: database) == ["remembered"])
        #expect(try await apply(received(.reversal, of: "1000", after: 2), in: database) == ["remembered"])
        #expect(
            try await database.number("SELECT count(*) FROM grants WHERE revoked_at IS NOT NULL AND revision = 2") == 1)
        await ledger.close()
    }

    @Test("if a notification arrives again, from Apple or from its notification history, it counts as a duplicate")
    func once() async throws {
        let database = try await LedgerDatabase()
        func test(_ source: PurchaseSource) -> ReceivedNotice {
            ReceivedNotice(
                StoreNotice(
                    StoreNotification(
                        id: "t-1", type: "TEST", signedAt: Sample.noon, bundleID: nil, environment: nil,
                        transaction: .none)),
                source: source, topic: "app-store-notifications", partition: 0, traceparent: nil,
                decidedAt: Sample.noon)
        }
        #expect(
            try await apply(test(.notification), test(.notification), in: database) == ["unconcerned", "duplicate"])
        #expect(try await apply(test(.history), in: database) == ["duplicate"])
        #expect(try await database.number("SELECT count(*) FROM notifications WHERE source = 'notification'") == 1)
    }
}
