import Encodings
import Fulfillment
import NamesAndTimes
import Postgres
import Testing

@testable import BackOffice
@testable import Ledger

@Suite("Operators' decisions about grants")
struct GrantDecisionTests {
    private static let catalog = Catalog(version: 1, apps: [])

    private func say(
        _ word: GrantDecision.Word, of id: String, at minute: Int64 = 0, in database: LedgerDatabase
    ) async throws -> GrantDecision.Ending {
        let decision = GrantDecision(
            word, Identifier(id), by: "ann", note: word == .revoke ? "charge-back" : nil,
            at: Sample.noon.adding(milliseconds: minute * 60_000))
        return try await GrantAdministration(pool: database.pool).apply(decision, catalog: Self.catalog)
    }

    private func refund(
        _ id: String, milliPercent: Int32? = nil, reversed: Bool = false, after seconds: Int64,
        in database: LedgerDatabase
    ) async throws -> String {
        let signedAt = Sample.noon.adding(milliseconds: 1000 * seconds)
        let notice = RefundNotice(
            id: Identifier("n-\(id)-\(seconds)"), change: reversed ? .reversed : .revoked(.refund, at: signedAt),
            signedAt: signedAt,
            transaction: NotifiedTransaction(
                purchase: Sample.purchase(id), kind: .consumable, bundleID: Sample.bundle, environment: .production,
                refundedMilliPercent: milliPercent))
        let received = ReceivedNotice(
            StoreNotice(notice, type: reversed ? "REFUND_REVERSED" : "REFUND", id: Identifier("n-\(id)-\(seconds)")),
            topic: "app-store-notifications", partition: 2, traceparent: nil, decidedAt: Sample.noon)
        let applied = try await PostgresNotices(pool: database.pool).apply([received], catalog: Self.catalog).value
        guard case .applied(let effect)? = applied.effects.first else { return "refused" }
        return effect.name
    }

    private func event(_ ending: GrantDecision.Ending) throws -> OutcomeEvent {
        guard case .published(let event) = ending else { throw Unexpected(ending: ending) }
        return event
    }

    private struct Unexpected: Error {
        let ending: GrantDecision.Ending
    }

    @Test(
        "if an operator revokes a non-consumable's original or restored copy, the ledger rejects the other of the two",
        arguments: ["1000", "1001"])
    func revokedOriginal(granted: String) async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        func decision(_ id: String, offset: Int64) -> PendingDecision {
            let kind = id == "1000" ? ProductKind.consumable : .nonConsumable
            return Sample.decision([Sample.judged(Sample.purchase(id, original: "1000"), kind)], offset: offset)
        }
        _ = try await ledger.record(decision(granted, offset: 1))
        _ = try event(try await say(.revoke, of: granted, in: database))
        let other = granted == "1000" ? "1001" : "1000"
        #expect(try await ledger.record(decision(other, offset: 2)).reason == .revokedByOperator)
        await ledger.close()
    }

    @Test("an operator revokes and reinstates a grant once each, with an audit entry and an event in the outbox")
    func revokedAndBack() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        func decision(_ offset: Int64, player: String = "player-1") -> PendingDecision {
            Sample.decision([Sample.judged(Sample.purchase("1000", quantity: 3))], player: player, offset: offset)
        }
        _ = try await ledger.record(decision(1))
        #expect(try await say(.revoke, of: "9999", in: database) == .notGranted)
        #expect(try await say(.reinstate, of: "1000", in: database) == .unchanged)
        let revoked = try event(try await say(.revoke, of: "1000", in: database))
        #expect(revoked.kind == .revoked && revoked.reason == .revokedByOperator && revoked.playerID == "player-1")
        #expect(revoked.eventID == OutcomeEvent.eventID(.revoked, transaction: "1000", revision: 2))
        #expect(revoked.member("units") == .number("3") && revoked.member("revocation_percentage") == .number("100000"))
        #expect(try await say(.revoke, of: "1000", at: 1, in: database) == .unchanged)
        #expect(try await ledger.record(decision(2)).reason == .revokedByOperator)
        #expect(try await ledger.record(decision(3, player: "player-2")).reason == .ownedByOtherPlayer)
        #expect(try await ledger.record(decision(1)).events.map(\.kind) == [.granted])
        #expect(
            try await database.number(
                "SELECT count(*) FROM grants WHERE revoked_at = operator_revoked_at AND revoked_units = 3") == 1)
        let back = try event(try await say(.reinstate, of: "1000", at: 2, in: database))
        #expect(back.kind == .reinstated && back.member("payload")?["gold"] == .number("555"))
        #expect(try await say(.reinstate, of: "1000", in: database) == .unchanged)
        #expect(try await ledger.record(decision(4)).reason == .alreadyGranted)
        #expect(
            try await database.number(
                "SELECT count(*) FROM grants WHERE revoked_at IS NULL AND revoked_units IS NULL AND revision = 3") == 1)
        #expect(
            try await database.number(
                "SELECT count(*) FROM grant_decisions WHERE operator = 'ann' AND (note IS NULL) = (decision = 'reinstate')"
            )
                == 2)
        let waiting = try await OutboxSweeper(pool: database.pool).leaseUnpublished(
            topic: "receiptd-grants", partition: 0, limit: 10)
        #expect(waiting.map(\.event) == [revoked, back])
        let inspection = try await Inspection.of("1000", days: 1, limit: 10, in: database.pool)
        #expect(inspection.sections.first { $0.name == "grant_decisions" }?.rows.count == 2)
        await ledger.close()
    }

    @Test("a grant stays revoked until neither Apple's nor an operator's revocation is in force")
    func bothWords() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        _ = try await ledger.record(
            Sample.decision([Sample.judged(Sample.purchase("1000", quantity: 10))], offset: 1))
        #expect(try await refund("1000", milliPercent: 30_000, after: 1, in: database) == "revoked")
        #expect(try await database.number("SELECT revoked_units FROM grants") == 3)
        let revoked = try event(try await say(.revoke, of: "1000", at: 1, in: database))
        #expect(revoked.member("units") == .number("10"))
        let left = try event(try await say(.reinstate, of: "1000", at: 2, in: database))
        #expect(left.kind == .revoked && left.reason == .refund && left.member("units") == .number("3"))
        #expect(try await refund("1000", after: 2, in: database) == "revoked")
        #expect(try await say(.revoke, of: "1000", at: 3, in: database) == .remembered)
        #expect(try await refund("1000", reversed: true, after: 3, in: database) == "remembered")
        #expect(
            try await database.number(
                "SELECT count(*) FROM grants WHERE revoked_at = operator_revoked_at AND apple_revoked_at IS NULL") == 1)
        #expect(try await refund("1000", after: 4, in: database) == "remembered")
        #expect(try await say(.reinstate, of: "1000", at: 4, in: database) == .remembered)
        #expect(try await refund("1000", reversed: true, after: 5, in: database) == "reinstated")
        #expect(try await database.number("SELECT revision FROM grants WHERE revoked_at IS NULL") == 6)
        await ledger.close()
    }

    @Test("a revocation that another system wrote ends with Apple's reversal, not with an operator's reinstatement")
    func written() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        _ = try await ledger.record(Sample.decision([Sample.judged(Sample.purchase("1000"))], offset: 1))
        try await database.run("UPDATE grants SET revoked_at = '2026-11-20T13:00:00Z'")
        #expect(try await say(.revoke, of: "1000", in: database) == .remembered)
        #expect(
            try await ledger.record(Sample.decision([Sample.judged(Sample.purchase("1000"))], offset: 2)).reason
                == .cancelled)
        #expect(try await say(.reinstate, of: "1000", in: database) == .remembered)
        #expect(try await database.number("SELECT count(*) FROM grants WHERE revoked_at = '2026-11-20T13:00:00Z'") == 1)
        #expect(try await refund("1000", reversed: true, after: 1, in: database) == "reinstated")
        await ledger.close()
    }

    /// A restored copy has its own id and date. Only the original transaction distinguishes the copy from a new
    /// purchase.
    @Test("an operator's revocation or reinstatement of a non-consumable covers every copy, whatever the copy's date")
    func restored() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        func restored(_ id: String, offset: Int64, at time: Timestamp = Sample.noon) -> PendingDecision {
            Sample.decision(
                [Sample.judged(Sample.purchase(id, original: "1000", at: time), .nonConsumable)], offset: offset)
        }
        _ = try await ledger.record(restored("1001", offset: 1))
        _ = try await say(.revoke, of: "1001", at: 1, in: database)
        #expect(try await ledger.record(restored("1002", offset: 2)).reason == .revokedByOperator)
        let later = Sample.noon.adding(milliseconds: 3_600_000)
        #expect(try await ledger.record(restored("1003", offset: 3, at: later)).reason == .revokedByOperator)
        _ = try event(try await say(.reinstate, of: "1001", at: 120, in: database))
        #expect(try await ledger.record(restored("1003", offset: 4, at: later)).reason == .alreadyGranted)
        #expect(try await database.number("SELECT count(*) FROM grants") == 1)
        await ledger.close()
    }

    @Test("if an operator revoked a subscription's period, a later period is granted all the same")
    func laterPeriod() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        func period(_ id: String, offset: Int64) -> PendingDecision {
            Sample.decision(
                [Sample.judged(Sample.purchase(id, original: "1000"), .autoRenewableSubscription)], offset: offset)
        }
        _ = try await ledger.record(period("1000", offset: 1))
        _ = try await say(.revoke, of: "1000", at: 1, in: database)
        #expect(try await ledger.record(period("1001", offset: 2)).granted.count == 1)
        // Each period is a separate purchase, so the grant of the other period does not stop the reinstatement.
        _ = try event(try await say(.reinstate, of: "1000", at: 2, in: database))
        await ledger.close()
    }

    @Test("an operator cannot reinstate a non-consumable while a second grant of the non-consumable is in force")
    func twice() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let first = Sample.judged(Sample.purchase("1001", original: "1000"), .nonConsumable)
        _ = try await ledger.record(Sample.decision([first], offset: 1))
        _ = try await say(.revoke, of: "1001", in: database)
        try await database.run(
            """
            INSERT INTO grants (transaction_id, original_transaction_id, player_id, bundle_id, product_id, quantity,
                environment, submission_id, granted_at)
            VALUES ('1002', '1000', 'player-1', 'com.example.game', 'skin', 1, 'Production', 'x', now())
            """)
        #expect(try await say(.reinstate, of: "1001", at: 1, in: database) == .inForce("1002"))
        #expect(try await database.number("SELECT count(*) FROM grants WHERE operator_revoked_at IS NOT NULL") == 1)
        _ = try await say(.revoke, of: "1002", at: 2, in: database)
        #expect(try event(try await say(.reinstate, of: "1001", at: 3, in: database)).kind == .reinstated)
        await ledger.close()
    }

    @Test("a grant that an operator revoked counts nothing towards a daily limit")
    func dailyLimit() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        func limited(_ id: String, offset: Int64) -> PendingDecision {
            let purchase = JudgedPurchase(
                purchase: Sample.purchase(id), kind: .consumable, verdict: .grant(payload: nil), dailyLimit: 1)
            return Sample.decision([purchase], offset: offset)
        }
        #expect(try await ledger.record(limited("1000", offset: 1)).granted.count == 1)
        _ = try await say(.revoke, of: "1000", in: database)
        #expect(try await ledger.record(limited("1001", offset: 2)).granted.count == 1)
        await ledger.close()
    }
}

extension OutcomeEvent {
    fileprivate func member(_ name: String) -> JSONValue? { try? JSONParser.parse(value).value[name] }
}
