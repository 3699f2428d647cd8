import EmbeddedPostgres
import Fulfillment
import Ledger
import Postgres
import Synchronization
import TestSupport
import Testing

@Suite("Lost connections to PostgreSQL")
struct ConnectionTroubleTests {
    /// Checks the rules that hold after any trouble: each record is answered, each transaction is granted once, and
    /// each event is in the outbox.
    private func expectSound(
        _ outcomes: [RecordedOutcome], of decisions: [PendingDecision], in database: LedgerDatabase
    ) async throws {
        #expect(outcomes.count == decisions.count)
        let granted = outcomes.flatMap(\.granted)
        #expect(Set(granted.map(\.subject)).count == granted.count)
        #expect(try await database.number("SELECT count(*) FROM grants") == granted.count)
        #expect(try await database.number("SELECT count(*) FROM outcomes") == decisions.count)
        let events = outcomes.flatMap(\.events).count
        #expect(try await database.number("SELECT count(*) FROM outbox") == events)
    }

    /// Returns the decisions of submissions in which two players each submit every transaction.
    private func load(_ count: Int) -> [PendingDecision] {
        (0..<count).map { index in
            Sample.decision(
                [Sample.judged(Sample.purchase("t\(index / 2)"))], player: "player-\(index % 2)", offset: Int64(index))
        }
    }

    @Test(
        "while PostgreSQL's backends are terminated repeatedly, the ledger loses no decision and grants nothing twice")
    func terminatedBackends() async throws {
        let database = try await LedgerDatabase()
        let ledgers = [database.ledger(writers: 2), database.ledger(writers: 2)]
        let decisions = load(2_000)
        let isDone = Atomic<Bool>(false)
        async let killer: Void = {
            while !isDone.load(ordering: .relaxed) {
                try await database.run(
                    """
                    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE datname = current_database() AND pid <> pg_backend_pid()
                    """
                )
                // This pause lets some batches commit.
                try await database.run("SELECT pg_sleep(0.15)")
            }
        }()
        var outcomes: [RecordedOutcome] = []
        for start in stride(from: 0, to: decisions.count, by: 200) {
            outcomes += try await recordAll(
                Array(decisions[start..<start + 200]), in: ledgers[start / 200 % 2])
        }
        isDone.store(true, ordering: .relaxed)
        try await killer
        try await expectSound(outcomes, of: decisions, in: database)
        for ledger in ledgers { await ledger.close() }
    }

    @Test(
        "if PostgreSQL crashes, the ledger reports lost connections, waits for a restart and grants each purchase once")
    func serverRestarts() async throws {
        let server = try EmbeddedPostgres.start(durable: false, settings: ["synchronous_commit": "on"])
        let database = try await LedgerDatabase(server: server)
        let lost = Atomic<Int>(0)
        let ledger = database.ledger(observer: LedgerObserver(disconnected: { _ in lost.add(1, ordering: .relaxed) }))
        let decisions = load(600)
        _ = try await ledger.record(Sample.decision(.whole(.foreignApp, []), offset: 10_000))
        async let outcomes = recordAll(Array(decisions[..<300]), in: ledger)
        server.stopServer(crashing: true)
        async let more = recordAll(Array(decisions[300...]), in: ledger)
        // No decision can end while the server is away, so the ledger must notice the loss. The test starts the server
        // even if the ledger does not report the loss, because the decisions would wait for ever.
        try? await eventually("the ledger reports a lost connection") { lost.load(ordering: .relaxed) > 0 }
        let losses = lost.load(ordering: .relaxed)
        try server.startServer()
        let all = try await outcomes + more
        #expect(losses > 0)
        #expect(all.flatMap(\.granted).count == 300)
        #expect(try await database.number("SELECT count(*) FROM grants") == 300)
        #expect(try await database.number("SELECT count(*) FROM outcomes") == 601)
        await ledger.close()
        server.stop()
    }

    @Test("if PostgreSQL does not answer a COMMIT, the ledger looks the batch up, and does not write it twice")
    func lostCommitAnswers() async throws {
        let server = try EmbeddedPostgres.start(durable: false)
        let database = try await LedgerDatabase(server: server)
        let proxy = try DatabaseProxy(server: UInt16(server.port))
        let through = database.uri.replacing(":\(server.port)/", with: ":\(proxy.port)/")
        let ledger = database.ledger(uri: through)
        let decisions = load(400)
        var outcomes: [RecordedOutcome] = []
        for start in stride(from: 0, to: decisions.count, by: 40) {
            proxy.cutNextCommits(1)
            outcomes += try await recordAll(Array(decisions[start..<start + 40]), in: ledger)
        }
        #expect(proxy.cutCount == 10)
        #expect(outcomes.flatMap(\.granted).count == 200)
        try await expectSound(outcomes, of: decisions, in: database)
        await ledger.close()
        proxy.close()
        server.stop()
    }

    @Test("if the COMMIT of a batch fails, the ledger writes the batch again")
    func failedCommits() async throws {
        let database = try await LedgerDatabase()
        try await database.run(
            """
            CREATE SEQUENCE commits;
            CREATE FUNCTION end_backend() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF nextval('commits') <= 3 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
                RETURN NULL;
            END $$;
            CREATE CONSTRAINT TRIGGER ends_backend AFTER INSERT ON claims
                DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION end_backend()
            """)
        let ledger = database.ledger()
        let decisions = load(20)
        let outcomes = try await recordAll(decisions, in: ledger)
        try await expectSound(outcomes, of: decisions, in: database)
        #expect(outcomes.flatMap(\.granted).count == 10)
        await ledger.close()
    }

    @Test("if PostgreSQL is down, closing the ledger fails all waiting calls")
    func closing() async throws {
        let pool = LedgerDatabase.pool("postgresql://postgres@127.0.0.1:1/none")
        let ledger = PostgresLedger(pool: pool)
        async let recorded = Result { try await ledger.record(Sample.decision(.whole(.foreignApp, []), offset: 1)) }
        async let recalled = Result {
            try await ledger.recall(Sample.query(for: Sample.decision(.whole(.foreignApp, []), offset: 1)))
        }
        await ledger.close()
        guard case .failure(is LedgerClosed) = await recorded, case .failure(is LedgerClosed) = await recalled else {
            Issue.record("what waited was answered")
            return
        }
        await #expect(throws: LedgerClosed.self) {
            try await ledger.record(Sample.decision(.whole(.foreignApp, []), offset: 2))
        }
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
