import Fulfillment
import NamesAndTimes
import Postgres
import Testing

@testable import BackOffice
@testable import Ledger

extension PlayerErasureTests {
    @Test(
        "if the player of a token's first grant is erased, the player named in player-accounts still gets the purchase")
    func sharedToken() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let subject = AnnouncedSubject(database, ledger)
        try await subject.setGrantsSince(Sample.noon)
        try await database.run(
            """
            INSERT INTO account_tokens VALUES
                ('\(Sample.bundle.text)', sha256('\(AnnouncedSubject.token)'), 'alice', now())
            """)
        try await subject.tell(isOf: "bob")
        try await subject.enter([try AnnouncedSubject.told("1000")])
        let erasure = PlayerErasure(of: "alice", in: database.pool)
        #expect(try await erasure.run(pseudonym: Self.pseudonym, by: "ann").isComplete)
        try await subject.endPatience()
        #expect(try await subject.deliver() == ["granted"])
        await ledger.close()
    }

    @Test("a second concurrent erasure of a player waits for the first erasure, and uses the first pseudonym")
    func atOnce() async throws {
        let database = try await LedgerDatabase()
        let open = try await OpenTransaction(
            database, "INSERT INTO erasures (pseudonym, player_id, operator) VALUES ('erased-first', 'alice', 'bob')")
        let pool = LedgerDatabase.pool(database.uri, size: 1)
        async let second = PlayerErasure(of: "alice", in: pool).run(pseudonym: Self.pseudonym, by: "ann")
        try await database.waitForLocks()
        try await open.finish()
        #expect(try await second.pseudonym == "erased-first")
        await pool.close()
    }
}
