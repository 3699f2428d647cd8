import Fulfillment
import NamesAndTimes
import Postgres
import Testing

@testable import BackOffice
@testable import Ledger

@Suite("Searches for events by id after Kafka has acknowledged the events")
struct ToldEventTests {
    private static let catalog = Catalog(version: 1, apps: [])

    /// Returns the names that an inspection of the event id finds.
    private func names(of id: NameBasedUUID, in database: LedgerDatabase) async throws -> [String] {
        try await Inspection.of(id.description, days: 2, limit: 10, in: database.pool).names
    }

    /// Deletes all outbox rows, as if Kafka had acknowledged their events, and returns the events' ids.
    private func acknowledged(in database: LedgerDatabase) async throws -> [NameBasedUUID] {
        let ids = try await database.pool.run { session in
            let rows = try session.execute(PostgresStatement("DELETE FROM outbox RETURNING event_id"))
            let id = try rows.column("event_id")
            return (0..<rows.count).compactMap { rows.uuid($0, id)?.nameBased }
        }
        return try #require(ids.isEmpty ? nil : ids)
    }

    @Test("for thirty days, a search for the id of a revocation or reinstatement event finds the grant")
    func refunds() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let refunds = RefundTests()
        _ = try await ledger.record(refunds.decision("1000", offset: 1))
        _ = try await acknowledged(in: database)
        #expect(try await refunds.apply(refunds.received(.refund, of: "1000"), in: database) == ["revoked"])
        #expect(
            try await refunds.apply(refunds.received(.reversal, of: "1000", after: 5), in: database) == ["reinstated"])
        let events = try await acknowledged(in: database)
        #expect(events.count == 2)
        for event in events { #expect(try await names(of: event, in: database) == ["1000"]) }
        let never = OutcomeEvent.eventID(.revoked, transaction: "1000", revision: 4)
        #expect(try await names(of: never, in: database).isEmpty)
        try await database.run("UPDATE refunds SET noted_at = now() - interval '31 days'")
        for event in events { #expect(try await names(of: event, in: database).isEmpty) }
        await ledger.close()
    }

    @Test("a search for the id of an original's refund event finds the grant under the restored transaction")
    func restored() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let refunds = RefundTests()
        let restored = Sample.judged(Sample.purchase("1001", original: "1000"), .nonConsumable)
        _ = try await ledger.record(Sample.decision([restored], offset: 1))
        _ = try await acknowledged(in: database)
        let refund = refunds.received(.refund, of: "1000", kind: .nonConsumable)
        #expect(try await refunds.apply(refund, in: database) == ["revoked"])
        for event in try await acknowledged(in: database) {
            #expect(try await names(of: event, in: database) == ["1001"])
        }
        await ledger.close()
    }

    @Test("a search for the id of an event about an operator's revocation or rejection finds the transaction")
    func operators() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let mixed = [
            Sample.judged(Sample.purchase("1000")),
            Sample.judged(Sample.purchase("2000"), .consumable, .hold(.unknownProduct)),
        ]
        _ = try await ledger.record(Sample.decision(mixed, offset: 1))
        _ = try await acknowledged(in: database)
        _ = try await GrantAdministration(pool: database.pool).apply(
            GrantDecision(.revoke, "1000", by: "ann", note: nil, at: Sample.noon), catalog: Self.catalog)
        for event in try await acknowledged(in: database) {
            #expect(try await names(of: event, in: database) == ["1000"])
        }
        _ = try await HoldAdministration(pool: database.pool).reject(HoldFilter(), by: "ann", at: Sample.noon)
        for event in try await acknowledged(in: database) {
            #expect(try await names(of: event, in: database) == ["2000"])
        }
        await ledger.close()
    }

    @Test("a search for the id of an event about an announced purchase's hold or rejection finds the purchase")
    func announced() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let subject = AnnouncedSubject(database, ledger)
        try await subject.setGrantsSince(Sample.noon)
        try await subject.tell(isOf: AnnouncedSubject.player)
        try await subject.enter([
            try AnnouncedSubject.told("1000") {
                $0 = Sample.purchase("1000", product: "silver")
                $0.appAccountToken = AnnouncedSubject.token
            }
        ])
        try await subject.endPatience()
        #expect(try await subject.deliver() == ["held unknown_product"])
        let held = try await acknowledged(in: database)
        #expect(held == [OutcomeEvent.eventID(.held, transaction: "1000", timesHeld: 0)])
        #expect(try await names(of: held[0], in: database) == ["1000"])
        _ = try await HoldAdministration(pool: database.pool).reject(HoldFilter(), by: "ann", at: Sample.noon)
        let rejected = try await acknowledged(in: database)
        try await database.run("UPDATE announced_purchases SET evidence = NULL, token = NULL")
        for event in held + rejected { #expect(try await names(of: event, in: database) == ["1000"]) }
        await ledger.close()
    }

    @Test("a search for the id of an event about a subscription or a refund request finds the transaction")
    func subscriptions() async throws {
        let database = try await LedgerDatabase()
        try await database.run(
            """
            INSERT INTO subscriptions (original_transaction_id, player_id, bundle_id, product_id, state, expires_at,
                environment, revision, updated_at, period_began_at)
            VALUES ('5000', 'p', 'b', 'monthly', 'active', now(), 'Production', 28000007, now(), now()),
                ('6000', 'p', 'b', 'monthly', 'expired', now(), 'Production', 3, now() - interval '31 days', now());
            INSERT INTO refund_requests (notification_id, transaction_id, original_transaction_id, bundle_id, product_id,
                environment, signed_at, answer_by, player_id)
            VALUES ('n-1', '7000', '7000', 'b', 'gold', 'Production', now(), now(), 'p')
            """)
        func found(_ original: StoreTransactionID, _ revision: Int32) async throws -> [String] {
            try await names(of: OutcomeEvent.eventID(subscription: original, revision: revision), in: database)
        }
        #expect(try await found("5000", 28_000_007) == ["5000"])
        #expect(try await found("5000", 28_000_001) == ["5000"])
        #expect(try await found("5000", 28_000_008).isEmpty)
        #expect(try await found("6000", 3).isEmpty)
        let asked = OutcomeEvent.eventID(refundRequest: "n-1")
        #expect(try await names(of: asked, in: database) == ["7000"])
        let inspection = try await Inspection.of("\(asked)", days: 2, limit: 10, in: database.pool)
        #expect(inspection.sections.first { $0.name == "refund_requests" }?.rows.count == 1)
    }
}
