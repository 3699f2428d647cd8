import Foundation
import Fulfillment
import Ledger
import NamesAndTimes
import Postgres
import Testing

@Suite("A batch whose session hangs", .timeLimit(.minutes(2)))
struct HungSessionTests {
    enum Moment: String, CaseIterable {
        case statement = "CREATE TRIGGER freezes AFTER INSERT ON grants"
        case commit = "CREATE CONSTRAINT TRIGGER freezes AFTER INSERT ON grants DEFERRABLE INITIALLY DEFERRED"
    }

    /// Makes the first session that grants "frozen" stop its own backend, as a stuck disk would stop it.
    private func freeze(_ moment: Moment, in database: LedgerDatabase) async throws {
        try await database.run(
            """
            CREATE SEQUENCE freezes;
            CREATE FUNCTION freeze() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF nextval('freezes') = 1 THEN
                    EXECUTE format('COPY (SELECT 1) TO PROGRAM %L', 'kill -STOP ' || pg_backend_pid());
                END IF;
                RETURN NULL;
            END $$;
            \(moment.rawValue) FOR EACH ROW WHEN (NEW.transaction_id = 'frozen') EXECUTE FUNCTION freeze()
            """)
    }

    @Test(
        "if a batch's PostgreSQL session hangs, no other submission is delayed, and the batch is written once",
        arguments: Moment.allCases)
    func others(moment: Moment) async throws {
        let database = try await LedgerDatabase()
        try await freeze(moment, in: database)
        let (told, tells) = AsyncStream.makeStream(of: HungSession.self)
        let ledger = database.impatientLedger { tells.yield($0) }
        let frozen = Sample.decision(
            [Sample.judged(Sample.purchase("frozen"))], player: "frozen", offset: 0, partition: 1)
        async let outcome = ledger.record(frozen)
        while try await database.number("SELECT is_called::int::int8 FROM freezes") == 0 {}
        // Before the hung session's deadline, idle writers write these decisions.
        let first = (1...20).map { Sample.decision([Sample.judged(Sample.purchase("a\($0)"))], offset: Int64($0)) }
        #expect(try await recordAll(first, in: ledger).flatMap(\.granted).count == 20)
        for decision in first {
            #expect(try await ledger.recall(Sample.query(for: decision)) != .nothing)
        }
        var session: HungSession?
        for await hung in told {
            session = hung
            break
        }
        let hung = try #require(session)
        #expect(hung.wasCommitting == (moment == .commit))
        // After the deadline the hung session still has its locks, including the lock on its partition's progress.
        let second = (1...20).map {
            Sample.decision([Sample.judged(Sample.purchase("b\($0)"))], offset: Int64($0), partition: 1)
        }
        #expect(try await recordAll(second, in: ledger).flatMap(\.granted).count == 20)
        kill(hung.processID, SIGCONT)
        #expect(try await outcome.granted.map(\.subject) == ["frozen"])
        #expect(try await database.number("SELECT count(*) FROM grants") == 41)
        #expect(try await database.number("SELECT count(*) FROM outcomes") == 41)
        #expect(try await database.number("SELECT count(*) FROM outbox") == 41)
        await ledger.close()
    }
}
