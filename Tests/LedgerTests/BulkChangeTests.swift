import BackOffice
import Fulfillment
import Ledger
import NamesAndTimes
import Postgres
import Synchronization
import Testing

/// The administration changes 6,500 rows, one page of rows per statement. If a statement changes more than 2,500 rows,
/// a trigger makes it fail, as a statement timeout would.
@Suite("Changes of thousands of parked and held rows")
struct BulkChangeTests {
    private static let rows = 6_500

    private func database() async throws -> LedgerDatabase {
        let database = try await LedgerDatabase()
        try await database.run(
            """
            INSERT INTO parked (id, source_topic, source_partition, source_offset, source_timestamp, submission_key,
                submission_id, player_id, bundle_id, proof, reason, due_at)
            SELECT gen_random_uuid(), 't', 0, n, now(), gen_random_uuid(), 's-' || n, 'p-' || n,
                CASE WHEN n % 5 = 0 THEN 'other' ELSE 'app' END, sha256('p'), 'blocked_request', now() + interval '1 hour'
            FROM generate_series(1, \(Self.rows)) AS n;
            INSERT INTO holds (transaction_id, original_transaction_id, player_id, bundle_id, product_id, reason,
                submission_key, submission_id, environment, quantity, purchased_at, catalog_version, held_at,
                source_topic, source_partition, source_offset, source_timestamp)
            SELECT 't-' || n, 'o-' || n, 'p-' || n, CASE WHEN n % 5 = 0 THEN 'other' ELSE 'app' END, 'gold',
                'unknown_product', gen_random_uuid(), 's-' || n, 'Production', 1, now(), 1, now(), 't', 0, n, now()
            FROM generate_series(1, \(Self.rows)) AS n;
            -- This trigger fails a statement that changes more than 2,500 rows.
            CREATE FUNCTION too_long() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF (SELECT count(*) FROM changed) > 2500 THEN
                    RAISE query_canceled USING MESSAGE = 'canceling statement due to statement timeout';
                END IF;
                RETURN NULL;
            END $$;
            CREATE TRIGGER too_long AFTER UPDATE ON parked REFERENCING NEW TABLE AS changed
                FOR EACH STATEMENT EXECUTE FUNCTION too_long();
            CREATE TRIGGER too_long AFTER UPDATE ON holds REFERENCING NEW TABLE AS changed
                FOR EACH STATEMENT EXECUTE FUNCTION too_long()
            """)
        return database
    }

    @Test(
        "the worker makes an app's blocked submissions due page by page, and leaves other apps' submissions unchanged")
    func wake() async throws {
        let database = try await database()
        let parking = PostgresParking(pool: database.pool)
        try await parking.retryBlocked("app", for: ParkingReason.blockagesOfReceipts)
        let due = "SELECT count(*) FROM parked WHERE due_at < now() + interval '1 minute'"
        #expect(try await database.number(due) == Self.rows * 4 / 5)
        #expect(try await database.number(due + " AND bundle_id = 'other'") == 0)
        await parking.close()
    }

    @Test("the command parked retry --all changes rows page by page, and reports its progress")
    func retry() async throws {
        let database = try await database()
        let told = Mutex<[Int]>([])
        let store = ParkedAdministration(pool: database.pool)
        let changed = try await store.retry(ParkedFilter()) { done in told.withLock { $0.append(done) } }
        #expect(changed == Self.rows)
        #expect(told.withLock { $0 }.count > 2)
        #expect(told.withLock { $0 } == told.withLock { $0 }.sorted())
        #expect(try await database.number("SELECT count(*) FROM parked WHERE due_at <= now()") == Self.rows)
        #expect(try await store.retry(ParkedFilter(bundleID: "other")) == Self.rows / 5)
        #expect(try await store.retry(ParkedFilter(id: "s-7")) == 1)
        #expect(try await store.retry(ParkedFilter(reason: .blockedRequest), limit: 3_000) == 3_000)
    }

    @Test("holds release --all works page by page; if a page fails, the next call releases the holds that are left")
    func release() async throws {
        let database = try await database()
        let store = HoldAdministration(pool: database.pool)
        // The fourth page fails.
        try await database.run(
            """
            CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF (SELECT count(*) FROM hold_decisions) >= 4000 THEN RAISE lock_not_available; END IF;
                RETURN NULL;
            END $$;
            CREATE TRIGGER stop AFTER UPDATE ON holds FOR EACH STATEMENT EXECUTE FUNCTION stop()
            """)
        #expect(try await store.release(HoldFilter(bundleID: "other"), by: "ann", limit: 1_100) == 1_100)
        let told = Mutex(0)
        await #expect(throws: PostgresError.self) {
            try await store.release(HoldFilter(), by: "ann") { done in told.withLock { $0 = done } }
        }
        let first = told.withLock { $0 }
        #expect(first >= 1_000 && first < Self.rows)
        try await database.run("DROP TRIGGER stop ON holds")
        #expect(try await store.release(HoldFilter(), by: "ann") == Self.rows - 1_100 - first)
        #expect(try await database.number("SELECT count(*) FROM hold_decisions") == Self.rows)
        #expect(try await database.number("SELECT count(DISTINCT transaction_id) FROM hold_decisions") == Self.rows)
        #expect(try await store.release(HoldFilter(id: "t-1"), by: "ann") == 0)
    }
}
