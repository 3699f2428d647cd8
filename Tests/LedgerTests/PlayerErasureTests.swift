import Fulfillment
import NamesAndTimes
import Postgres
import Testing

@testable import BackOffice
@testable import Ledger

@Suite("The erasure of a player")
struct PlayerErasureTests {
    static let pseudonym: PlayerID = {
        var random = SystemRandomNumberGenerator()
        return Pseudonym.make(using: &random)
    }()

    /// SQL that lists the columns that could hold a player's data: identifiers of players, bytes and documents.
    private static let columns = """
        SELECT table_name || '.' || column_name AS name
        FROM information_schema.columns
        WHERE table_schema = 'public' AND table_name NOT LIKE 'outcomes\\_%'
            AND (column_name LIKE '%player%' OR column_name = 'record_key' OR data_type IN ('bytea', 'json', 'jsonb')
                OR column_name IN ('story', 'note', 'subject'))
        """

    @Test("ErasedColumns lists exactly the columns that may hold a player's data")
    func list() async throws {
        let database = try await LedgerDatabase()
        let names = try await database.pool.run { session in
            let rows = try session.execute(PostgresStatement(Self.columns))
            let name = try rows.column("name")
            return Set((0..<rows.count).compactMap { rows.text($0, name) })
        }
        #expect(names.subtracting(ErasedColumns.all.keys) == [], "not in ErasedColumns")
        #expect(Set(ErasedColumns.all.keys).subtracting(names) == [], "not in the schema")
    }

    /// Returns the tables that have rows with the player's name, as text or as bytes.
    private func traces(of name: String, in database: LedgerDatabase) async throws -> [String] {
        let tables = try await database.pool.run { session in
            let rows = try session.execute(
                PostgresStatement(
                    """
                    SELECT c.relname AS name FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = relnamespace
                    WHERE n.nspname = 'public' AND c.relkind = 'r'
                    """))
            let name = try rows.column("name")
            return (0..<rows.count).compactMap { rows.text($0, name) }
        }
        var found: [String] = []
        for table in tables {
            // PostgreSQL shows bytes as hex, so the query also looks for the name in hex.
            let count = try await database.number(
                """
                SELECT count(*) FROM \(table) AS t
                WHERE t::text LIKE '%\(name)%' OR t::text LIKE '%' || encode('\(name)'::bytea, 'hex') || '%'
                """)
            if count > 0 { found.append(table) }
        }
        return found.sorted()
    }

    private func prepare(_ database: LedgerDatabase) async throws {
        let ledger = database.ledger()
        for offset in 1...5 {
            let id = "10\(offset)"
            _ = try await ledger.record(
                Sample.decision(
                    [Sample.judged(Sample.purchase(id))], player: "alice", offset: Int64(offset),
                    submission: "alice-\(offset)", remembers: true))
        }
        _ = try await ledger.record(
            Sample.decision([Sample.judged(Sample.purchase("200"))], player: "bob", offset: 20, remembers: true))
        // The ledger rejects alice's submission, because transaction 200 is bob's.
        _ = try await ledger.record(
            Sample.decision([Sample.judged(Sample.purchase("200"))], player: "alice", offset: 21))
        await ledger.close()
        try await database.run(
            """
            DELETE FROM outbox;
            INSERT INTO device_sightings VALUES ('b', 'ipad', '2026-11-20', 'alice'), ('b', 'ipad', '2026-11-20', 'bob');
            INSERT INTO claims (original_transaction_id, player_id, bundle_id) VALUES
                ('period 1', 'alice', 'b'), ('1999', 'alice', 'b'), ('2999', 'bob', 'b');
            INSERT INTO account_tokens VALUES ('b', sha256('t'), 'alice', now()), ('b', sha256('u'), 'bob', now());
            INSERT INTO account_token_senders VALUES ('b', sha256('t'), 'alice'), ('b', sha256('t'), 'bob');
            INSERT INTO account_token_accounts VALUES
                ('b', sha256('t'), '70', 'alice'), ('b', sha256('t'), '71', 'bob');
            INSERT INTO refusals VALUES ('300', 'alice'), ('300', 'bob');
            INSERT INTO hold_decisions (transaction_id, player_id, bundle_id, product_id, submission_id, reason, decision,
                operator) VALUES ('300', 'alice', 'b', 'gold', 'alice-9', 'daily_limit', 'reject', 'ann');
            INSERT INTO grant_decisions (transaction_id, player_id, bundle_id, product_id, decision, operator, note)
            VALUES ('101', 'alice', 'b', 'gold', 'revoke', 'ann', 'alice wrote to us');
            INSERT INTO console_changes (operator, change, subject, note, shown) VALUES
                ('ann', 'revoke', '101', 'alice wrote to us', 1), ('ann', 'retry', 'alice-2', 'alice', 1),
                ('ann', 'reject', 'alice-9', NULL, 1), ('ann', 'reject', '300', 'alice', 1),
                ('ann', 'search', 'alice', 'alice', 1), ('ann', 'revoke', '200', 'for bob', 1)
            """)
    }

    @Test("an erasure removes the player's id from all tables, keeps the grants, and leaves other players' rows")
    func erased() async throws {
        let database = try await LedgerDatabase()
        try await prepare(database)
        #expect(try await traces(of: "alice", in: database).contains("grants"))
        let others = "SELECT count(*) FROM device_sightings, account_tokens WHERE device_sightings.player_id = 'bob'"
        let erasure = PlayerErasure(of: "alice", in: database.pool, grantsAtATime: 2)
        #expect(try await erasure.waiting() == PlayerErasure.Waiting(held: 0, parked: 0, unpublished: 0))
        let erased = try await erasure.run(pseudonym: Self.pseudonym, by: "ann")
        #expect(erased == PlayerErasure.Erased(pseudonym: Self.pseudonym, isComplete: true))
        #expect(try await traces(of: "alice", in: database) == [])
        #expect(
            try await database.number("SELECT count(*) FROM grants WHERE player_id = '\(Self.pseudonym.text)'") == 5)
        #expect(
            try await database.number("SELECT count(*) FROM claims WHERE player_id = '\(Self.pseudonym.text)'") == 7)
        #expect(try await database.number("SELECT count(*) FROM claims WHERE player_id = 'bob'") == 2)
        #expect(try await database.number("SELECT count(*) FROM proofs") == 1)
        #expect(try await database.number(others) == 1)
        #expect(try await database.number("SELECT count(*) FROM erasures WHERE player_id IS NULL") == 1)
        #expect(try await traces(of: "bob", in: database).contains("grants"))
        let notes = "SELECT count(*) FROM console_changes WHERE"
        #expect(try await database.number("\(notes) note = 'for bob'") == 1)
        #expect(try await database.number("\(notes) subject = '101' AND note IS NULL") == 1)
        #expect(try await database.number("\(notes) subject = '\(Self.pseudonym.text)'") == 3)
    }

    @Test(
        "after an erasure, a redelivered record gets no event, and a new record is rejected as owned by another player")
    func redelivered() async throws {
        let database = try await LedgerDatabase()
        try await prepare(database)
        _ = try await PlayerErasure(of: "alice", in: database.pool).run(pseudonym: Self.pseudonym, by: "ann")
        let ledger = database.ledger()
        let first = Sample.decision(
            [Sample.judged(Sample.purchase("101"))], player: "alice", offset: 1, submission: "alice-1", remembers: true)
        let again = try await ledger.recall(Sample.query(for: first))
        // The published event had the player's id, and an event id must have one content. So the ledger publishes no
        // event.
        #expect(again == .answered([]))
        #expect(try await ledger.record(first).events == [])
        let other = Sample.decision([Sample.judged(Sample.purchase("101"))], player: "alice", offset: 50)
        #expect(try await ledger.record(other).reason == .ownedByOtherPlayer)
        await ledger.close()
    }

    @Test("if a player's erasure is interrupted, the next run continues under the first pseudonym")
    func cutOff() async throws {
        let database = try await LedgerDatabase()
        try await prepare(database)
        try await database.run("INSERT INTO erasures (pseudonym, player_id, operator) VALUES ('first', 'alice', 'ann')")
        let page = GrantErasure(player: "alice", pseudonym: "first", transactions: ["101"], originals: ["101"])
        try await database.pool.run { try page.run(in: $0) }
        let erased = try await PlayerErasure(of: "alice", in: database.pool).run(pseudonym: Self.pseudonym, by: "ann")
        #expect(erased.pseudonym == "first" && erased.isComplete)
        #expect(try await database.number("SELECT count(*) FROM grants WHERE player_id = 'first'") == 5)
        #expect(try await traces(of: "alice", in: database) == [])
    }

    @Test("an erasure counts announced purchases whose token is the player's id as waiting; later they are unclaimed")
    func tokens() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let subject = AnnouncedSubject(database, ledger)
        try await subject.setGrantsSince(Sample.noon)
        try await subject.enter([try AnnouncedSubject.told("1000"), try AnnouncedSubject.told("1001", token: nil)])
        try await subject.endPatience()
        let erasure = PlayerErasure(of: PlayerID(AnnouncedSubject.token.uppercased()), in: database.pool)
        #expect(try await erasure.waiting() == PlayerErasure.Waiting(held: 0, parked: 0, announced: 1, unpublished: 0))
        #expect(try await erasure.run(pseudonym: Self.pseudonym, by: "ann").isComplete)
        #expect(try await erasure.waiting().announced == 0)
        let catalog = AnnouncedSubject.catalog { $0.accountTokenIs = .playerID }
        #expect(try await subject.deliver(under: catalog) == ["unclaimed unknown_player"])
        #expect(try await traces(of: AnnouncedSubject.token, in: database) == [])
        await ledger.close()
    }

    @Test("before a player's erasure, an announced purchase counts as waiting, until its claim names another player")
    func accounts() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let subject = AnnouncedSubject(database, ledger)
        try await subject.setGrantsSince(Sample.noon)
        try await subject.tell(isOf: "alice")
        try await subject.enter([try AnnouncedSubject.told("1000"), try AnnouncedSubject.told("1001", token: nil)])
        #expect(try await PlayerErasure(of: "bob", in: database.pool).waiting().announced == 0)
        let erasure = PlayerErasure(of: "alice", in: database.pool)
        #expect(try await erasure.waiting().announced == 1)
        try await database.run("UPDATE claims SET player_id = 'bob' WHERE original_transaction_id = '1000'")
        #expect(try await erasure.waiting().announced == 0)
        await ledger.close()
    }

    @Test("if a subscription's former owner is erased, the new owner still gets the announced period")
    func passedOn() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let subject = AnnouncedSubject(database, ledger)
        _ = try await subject.submit("5000", product: "pass", kind: .autoRenewableSubscription, offset: 1)
        // Player "taker" owns the subscription, so the account tokens have no effect.
        try await database.run(
            """
            DELETE FROM outbox;
            UPDATE claims SET player_id = 'taker';
            INSERT INTO account_tokens VALUES
                ('\(Sample.bundle.text)', sha256('\(AnnouncedSubject.token)'), 'player-1', now())
            """)
        try await subject.enter([try AnnouncedSubject.renewal("5001", token: AnnouncedSubject.token)])
        #expect(
            try await PlayerErasure(of: "player-1", in: database.pool).run(pseudonym: Self.pseudonym, by: "ann")
                .isComplete)
        #expect(try await database.number("SELECT count(*) FROM announced_purchases WHERE token IS NULL") == 1)
        #expect(try await database.number("SELECT count(*) FROM announced_purchases WHERE evidence IS NULL") == 0)
        #expect(try await traces(of: AnnouncedSubject.token, in: database) == [])
        #expect(try await subject.events(under: AnnouncedSubject.catalog(.report)).map(\.playerID) == ["taker"])
        await ledger.close()
    }

    @Test("if a transferred subscription's former owner is erased, the token is removed from an announced period")
    func forgottenToken() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let subject = AnnouncedSubject(database, ledger)
        _ = try await subject.submit("5000", product: "pass", kind: .autoRenewableSubscription, offset: 1)
        try await subject.enter([try AnnouncedSubject.renewal("5001", token: AnnouncedSubject.token)])
        try await database.run(
            """
            DELETE FROM outbox;
            UPDATE claims SET player_id = 'taker';
            UPDATE announced_purchases SET token = NULL;
            INSERT INTO subscription_transfers (
                original_transaction_id, bundle_id, from_player_id, to_player_id, operator)
            VALUES ('5000', '\(Sample.bundle.text)', 'player-1', 'taker', 'ann')
            """)
        #expect(
            try await PlayerErasure(of: "player-1", in: database.pool).run(pseudonym: Self.pseudonym, by: "ann")
                .isComplete)
        #expect(try await traces(of: AnnouncedSubject.token, in: database) == [])
        #expect(try await subject.events(under: AnnouncedSubject.catalog(.report)).map(\.playerID) == ["taker"])
        await ledger.close()
    }

    @Test(
        "if Apple announces a renewal after its owner's erasure, it is refused, and stored without token and evidence")
    func renewed() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let subject = AnnouncedSubject(database, ledger)
        _ = try await subject.submit("5000", product: "pass", kind: .autoRenewableSubscription, offset: 1)
        try await database.run("DELETE FROM outbox")
        _ = try await PlayerErasure(of: "player-1", in: database.pool).run(pseudonym: Self.pseudonym, by: "ann")
        try await subject.enter([try AnnouncedSubject.renewal("5001", token: AnnouncedSubject.token)])
        #expect(try await subject.deliver() == ["refused player_erased"])
        let kept = "SELECT count(*) FROM announced_purchases WHERE evidence IS NOT NULL OR token IS NOT NULL"
        #expect(try await database.number(kept) == 0)
        await ledger.close()
    }

    @Test("if an operator revokes an erased player's grant, the ledger stores the revocation without an event")
    func noted() async throws {
        let database = try await LedgerDatabase()
        try await prepare(database)
        _ = try await PlayerErasure(of: "alice", in: database.pool).run(pseudonym: Self.pseudonym, by: "ann")
        let decision = GrantDecision(.revoke, "101", by: "ann", at: Sample.noon)
        let ending = try await GrantAdministration(pool: database.pool).apply(
            decision, catalog: Catalog(version: 0, apps: []))
        #expect(ending == .remembered)
        #expect(try await database.number("SELECT count(*) FROM outbox") == 0)
        #expect(try await database.number("SELECT count(*) FROM grants WHERE revoked_at IS NOT NULL") == 1)
    }

    @Test("before an erasure, the player's holds are counted, and an operator's rejection ends each hold with an event")
    func rejected() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        _ = try await ledger.record(
            Sample.decision(
                [Sample.judged(Sample.purchase("100"), .consumable, .hold(.retiredProduct))], player: "alice", offset: 1
            ))
        let erasure = PlayerErasure(of: "alice", in: database.pool)
        #expect(try await erasure.waiting() == PlayerErasure.Waiting(held: 1, parked: 0, unpublished: 1))
        try await PlayerRejection(of: "alice", in: database.pool).run(by: "ann", at: Sample.noon)
        #expect(try await erasure.waiting() == PlayerErasure.Waiting(held: 0, parked: 0, unpublished: 2))
        await ledger.close()
    }
}
