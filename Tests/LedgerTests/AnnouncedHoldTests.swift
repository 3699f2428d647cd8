import Fulfillment
import NamesAndTimes
import Postgres
import Testing

@testable import BackOffice
@testable import Ledger

@Suite("Announced purchases whose hold an operator ends")
struct AnnouncedHoldTests {
    private typealias Subject = AnnouncedSubject

    private func with(
        token player: PlayerID, _ body: (Subject, LedgerDatabase) async throws -> Void
    ) async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let subject = Subject(database, ledger)
        try await subject.setGrantsSince(Sample.noon)
        try await subject.tell(isOf: player)
        try await subject.enter([try Subject.told("1000")])
        try await subject.endPatience()
        let held = Sample.judged(Sample.purchase("1000"), .consumable, .hold(.unknownProduct))
        _ = try await ledger.record(Sample.decision([held], offset: 1))
        try await body(subject, database)
        await ledger.close()
    }

    private func reject(in database: LedgerDatabase) async throws {
        let refused = try await HoldAdministration(pool: database.pool)
            .reject(HoldFilter(id: "1000"), by: "ann", at: Sample.noon)
        #expect(refused.rejected == 1)
    }

    @Test("if an operator rejects the hold of the player whom the token names, the announced purchase stays refused")
    func refused() async throws {
        try await with(token: Subject.player) { subject, database in
            try await reject(in: database)
            #expect(try await subject.deliver() == ["refused refused_by_operator"])
            #expect(try await subject.deliver(under: Subject.catalog(version: 2)) == [])
            #expect(try await database.number("SELECT count(*) FROM grants") == 0)
        }
    }

    @Test(
        "if an operator rejects another player's hold of an announced purchase, the player whom the token names gets it"
    )
    func others() async throws {
        try await with(token: "player-2") { subject, database in
            try await reject(in: database)
            #expect(try await subject.deliver() == ["granted"])
            #expect(try await database.number("SELECT count(*) FROM grants WHERE player_id = 'player-2'") == 1)
        }
    }

    @Test("if Apple refunds an announced purchase while it is held, the worker grants it only after Apple's reversal")
    func refunded() async throws {
        try await with(token: "player-2") { subject, database in
            try await subject.apply(.revoked(.refund, at: Sample.noon), of: "1000", id: "refund")
            try await reject(in: database)
            #expect(try await subject.deliver() == ["refused cancelled"])
            try await subject.apply(.reversed, of: "1000", id: "reversal")
            #expect(try await subject.deliver() == ["granted"])
        }
    }

    @Test(
        "if an announced purchase is granted, its token's hash is deleted; otherwise the hash is deleted after 180 days"
    )
    func tokens() async throws {
        try await with(token: Subject.player) { subject, database in
            try await subject.enter([
                try Subject.told("1001"), try Subject.told("1002"), try Subject.told("1003", environment: .sandbox),
            ])
            #expect(try await subject.submit("1001", offset: 2).granted.count == 1)
            try await subject.enter([try Subject.told("1004")])
            #expect(try await subject.submit("1004", offset: 3).granted.count == 1)
            try await subject.enter([try Subject.told("1004", source: .history)])
            try await subject.endPatience()
            #expect(try await subject.deliver() == ["granted", "refused sandbox_not_allowed"])
            let hashes = "SELECT count(*) FROM announced_purchases WHERE token IS NOT NULL"
            #expect(try await database.number(hashes) == 2)
            try await database.run(
                """
                UPDATE announced_purchases SET stored_at = now() - interval '181 days';
                UPDATE announced_purchases SET evidence = NULL WHERE transaction_id = '1003'
                """)
            #expect(try await PostgresAnnouncements.forgetEvidence(in: database.pool) == 2)
            #expect(try await database.number(hashes) == 0)
        }
    }

    @Test(
        "if a hold ends with a grant, the announced purchase keeps no evidence and no token, and is not delivered again"
    )
    func granted() async throws {
        try await with(token: Subject.player) { subject, database in
            let kept = "SELECT count(*) FROM announced_purchases WHERE evidence IS NOT NULL OR token IS NOT NULL"
            #expect(try await database.number(kept) == 1)
            try await subject.release("1000")
            let hold = try #require(try await subject.holds.leaseDue(catalogVersion: 1, limit: 1).first)
            let event = try await subject.holds.settle(
                HoldDecision(
                    hold, verdict: .each([Sample.judged(Sample.purchase("1000"))]), environment: .production,
                    decidedAt: Sample.noon, catalogVersion: 1))
            #expect(event?.kind == .granted)
            #expect(try await database.number(kept) == 0)
            #expect(try await subject.deliver(under: Subject.catalog(version: 2)) == [])
        }
    }
}
