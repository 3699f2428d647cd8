import Fulfillment
import Postgres
import Testing

@testable import Ledger

@Suite("Announced purchases that two workers change simultaneously")
struct AnnouncedRaceTests {
    private typealias Subject = AnnouncedSubject

    private func states(in database: LedgerDatabase) async throws -> [String] {
        try await database.pool.run { session in
            let rows = try session.execute(
                PostgresStatement(
                    """
                    SELECT concat_ws(' ', transaction_id, state, reason) AS state FROM announced_purchases
                    ORDER BY transaction_id
                    """))
            let state = try rows.column("state")
            return (0..<rows.count).compactMap { rows.text($0, state) }
        }
    }

    /// Stores a `player-accounts` record with the purchases' token. Calls `release` once the session that stores the
    /// record waits for a lock, and returns after the record is stored.
    private func recordPlayer(in database: LedgerDatabase, release: () async throws -> Void) async throws {
        let account = ReceivedAccount(
            PlayerAccount(
                token: AccountTokenKey(bundleID: Sample.bundle, token: Subject.token), player: Subject.player),
            partition: 0, offset: 0, timestamp: Sample.noon)
        // A session of its own stores the record, so that the test's session can see this session wait.
        let pool = LedgerDatabase.pool(database.uri, size: 1)
        async let recorded = PostgresPlayerAccounts(pool: pool).apply([account])
        try await database.waitForLocks()
        try await release()
        _ = try await recorded
        await pool.close()
    }

    @Test(
        "if a purchase is granted or leased again after a worker leased it, that worker does not set the purchase aside"
    )
    func setAside() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let subject = Subject(database, ledger)
        try await subject.enter([try Subject.told("1000"), try Subject.told("1001"), try Subject.told("1002")])
        try await subject.endPatience()
        let store = PostgresAnnouncements(pool: database.pool, waitSeconds: 0)
        let leased = try await store.leaseDue(under: Subject.catalog(), limit: 5)
        #expect(leased.count == 3)
        #expect(try await subject.submit("1000", offset: 1).granted.count == 1)
        try await database.run(
            """
            UPDATE announced_purchases SET leased_until = leased_until + interval '1 second'
            WHERE transaction_id = '1001'
            """)
        let refused = PostgresError(sqlState: "22021", message: "invalid byte sequence", kind: .data)
        var outcomes: [String] = []
        for one in leased {
            outcomes += try await store.setAside(one, for: refused, under: Subject.catalog()).map(\.inWords)
        }
        #expect(outcomes == ["unclaimed unreadable"])
        #expect(
            try await states(in: database) == ["1000 claimed", "1001 waiting", "1002 unclaimed unreadable"])
        await ledger.close()
    }

    @Test("if the token's player becomes known while a worker marks a purchase as unclaimed, the purchase is due again")
    func word() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let subject = Subject(database, ledger)
        try await subject.setGrantsSince(Sample.noon)
        try await subject.enter([try Subject.told("1000")])
        // This SQL transaction stands for a delivery between its last look at the tokens and its COMMIT.
        let delivery = try await OpenTransaction(
            database,
            """
            UPDATE announced_purchases SET state = 'unclaimed', reason = 'unknown_player', due_at = NULL,
                awaits_submission = false, leased_until = NULL, decided_at = now()
            """)
        try await recordPlayer(in: database) { try await delivery.finish() }
        #expect(try await states(in: database) == ["1000 waiting"])
        #expect(try await subject.deliver() == ["granted"])
        await ledger.close()
    }

    @Test(
        "if the token's player is not committed yet when a worker judges the purchase, the purchase becomes due again")
    func announcedMeanwhile() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let subject = Subject(database, ledger)
        try await subject.setGrantsSince(Sample.noon)
        try await database.run(
            """
            CREATE FUNCTION wait_at_commit() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NULL; END $$;
            CREATE CONSTRAINT TRIGGER wait_at_commit AFTER INSERT ON player_accounts DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW EXECUTE FUNCTION wait_at_commit()
            """)
        let delay = try await OpenTransaction(database, "SELECT pg_advisory_xact_lock(7)")
        try await recordPlayer(in: database) {
            try await subject.enter([try Subject.told("1000")])
            try await subject.endPatience()
            #expect(try await subject.deliver() == ["unclaimed unknown_player"])
            try await delay.finish()
        }
        #expect(try await states(in: database) == ["1000 waiting"])
        #expect(try await subject.deliver() == ["granted"])
        await ledger.close()
    }
}
