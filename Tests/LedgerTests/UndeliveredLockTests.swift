import Dispatch
import Fulfillment
import NamesAndTimes
import Postgres
import Testing

@testable import Ledger

@Suite("Two SQL transactions that delete and write undelivered purchases")
struct UndeliveredLockTests {
    /// SQL for a trigger. The trigger makes a session wait after its DELETE, until the other session has done its
    /// DELETE too, waits for a lock, or has ended.
    private static let meeting = """
        CREATE FUNCTION meet() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM pg_advisory_xact_lock_shared(42);
            WHILE (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 42 AND granted) < 2
                AND NOT EXISTS (SELECT FROM pg_locks WHERE NOT granted)
                AND EXISTS (
                    SELECT FROM pg_stat_activity
                    WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL)
            LOOP
                PERFORM pg_sleep(0.01);
            END LOOP;
            RETURN NULL;
        END
        $$;
        CREATE TRIGGER meeting AFTER DELETE ON undelivered FOR EACH ROW EXECUTE FUNCTION meet();
        INSERT INTO undelivered (
            transaction_id, original_transaction_id, player_id, bundle_id, product_id, environment, reason)
        SELECT id, id, 'player-1', 'com.example.game', 'gold', 'Production', 'parked' FROM unnest('{1,2}'::text[]) AS id
        """

    private func decision(_ id: String, isParked: Bool) -> PendingDecision {
        PendingDecision(
            submission: Sample.submission("s-\(id)", player: "player-1"), position: Sample.position(1),
            proof: Sample.digest(id),
            verdict: .each([Sample.judged(Sample.purchase(id), .consumable, .reject(.productMismatch))]),
            environment: .production, evidence: nil, decidedAt: Sample.noon, catalogVersion: 1, traceparent: nil,
            parkedID: isParked ? Sample.position(1).parkedID : nil,
            undeliveredTerms: isParked ? nil : UndeliveredTerms(provesPossession: true, cutover: nil))
    }

    /// Returns rows that delete `parked` and write `refused`.
    private func rows(parked: String, refused: String) -> UndeliveredRows {
        let decisions = [decision(parked, isParked: true), decision(refused, isParked: false)]
        var view = LedgerView()
        let settlements = decisions.map { $0.settle(in: &view) }
        return UndeliveredRows(decisions, settlements)
    }

    @Test(
        "two SQL transactions that delete and write each other's undelivered purchases do not deadlock",
        .timeLimit(.minutes(1)))
    func order() async throws {
        let database = try await LedgerDatabase()
        try await database.run(Self.meeting)
        let (first, second) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        func write(
            _ rows: UndeliveredRows, begun: DispatchSemaphore, other: DispatchSemaphore
        ) async throws {
            let pool = LedgerDatabase.pool(database.uri, size: 1)
            try await pool.run { session in
                try session.transaction { session in
                    try session.run(script: "SELECT 1")
                    begun.signal()
                    other.wait()
                    try rows.write(in: session)
                }
            }
            await pool.close()
        }
        async let one: Void = write(rows(parked: "1", refused: "2"), begun: first, other: second)
        async let two: Void = write(rows(parked: "2", refused: "1"), begun: second, other: first)
        _ = try await (one, two)
        #expect(try await database.number("SELECT count(*) FROM undelivered WHERE reason = 'parked'") == 0)
    }
}
