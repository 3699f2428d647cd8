import Fulfillment
import Ledger
import Testing

@Suite("Grants that another system writes")
struct OutsideWriterTests {
    private let columns = """
        transaction_id, original_transaction_id, player_id, bundle_id, product_id, quantity, environment, purchased_at,
        submission_id, granted_at
        """

    @Test("a grants row with only the contract's columns counts as a grant, and claims its original transaction")
    func contractColumns() async throws {
        let database = try await LedgerDatabase()
        try await database.run(
            """
            INSERT INTO grants (\(columns))
            VALUES ('1000', '1000', 'player-1', 'b', 'p', 1, 'Production', now(), 's', now())
            """)
        let ledger = database.ledger()
        let same = try await ledger.record(Sample.decision([Sample.judged(Sample.purchase("1000"))], offset: 1))
        #expect(same.reason == .alreadyGranted)
        let restored = Sample.judged(Sample.purchase("1001", original: "1000"), .nonConsumable)
        #expect(try await ledger.record(Sample.decision([restored], offset: 2)).reason == .alreadyGranted)
        let other = try await ledger.record(Sample.decision([restored], player: "player-2", offset: 3))
        #expect(other.reason == .ownedByOtherPlayer)
        await ledger.close()
    }

    @Test("if another system's grant has no claim, its purchase is rejected, and the batch's other purchase is granted")
    func withoutClaim() async throws {
        let database = try await LedgerDatabase()
        try await database.run(
            """
            ALTER TABLE grants DISABLE TRIGGER outside_grant_claims;
            INSERT INTO grants (\(columns)) VALUES ('1000', NULL, 'player-1', 'b', 'p', 1, 'Sandbox', NULL, 's', now())
            """)
        let ledger = database.ledger()
        let outcomes = try await recordAll(
            [
                Sample.decision([Sample.judged(Sample.purchase("1000"))], player: "player-2", offset: 1),
                Sample.decision([Sample.judged(Sample.purchase("1000"))], offset: 2),
                Sample.decision([Sample.judged(Sample.purchase("2000"))], offset: 3),
            ], in: ledger)
        #expect(outcomes.map(\.reason) == [.ownedByOtherPlayer, .alreadyGranted, nil])
        #expect(try await database.number("SELECT count(*) FROM grants") == 2)
        #expect(try await database.number("SELECT count(*) FROM claims") == 1)
        await ledger.close()
    }

    @Test(
        "if a non-consumable's grant is revoked, it can be granted under a new transaction id, but not under the old id"
    )
    func revoked() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let first = Sample.judged(Sample.purchase("1000"), .nonConsumable)
        _ = try await ledger.record(Sample.decision([first], offset: 1))
        try await database.run("UPDATE grants SET revoked_at = now()")
        #expect(try await ledger.record(Sample.decision([first], offset: 2)).reason == .cancelled)
        let restored = Sample.judged(Sample.purchase("1001", original: "1000"), .nonConsumable)
        #expect(try await ledger.record(Sample.decision([restored], offset: 3)).granted.count == 1)
        let more = Sample.judged(Sample.purchase("1002", original: "1000"), .nonConsumable)
        #expect(try await ledger.record(Sample.decision([more], offset: 4)).reason == .alreadyGranted)
        await ledger.close()
    }
}
