import Ledger
import Postgres
import Testing

@Suite("The plans of the refund requests' statements on large tables")
struct RefundRequestPlanTests {
    private static let statements: [(name: String, types: String, parameters: String)] = [
        (
            "insert_refund_requests",
            "text[], text[], text[], text[], text[], text[], text[], text[], timestamptz[], timestamptz[], float8, text[], text[]",
            """
            '{n-0,n-00}', '{t-7,t-8}', '{t-7,t-8}', '{b,b}', '{gold,gold}', '{Production,Production}', '{NULL,NULL}',
            '{NULL,NULL}', '{now,now}', '{now,now}', 60, '{t-9,NULL}', '{r-0,r-00}'
            """
        ),
        ("find_unowned_refund_requests", "int8", "100"),
        (
            "update_unowned_refund_requests", "text[], float8, float8, float8, text[]",
            "'{n-7,n-14}', 60, 3600, 7200, '{r-7,r-14}'"
        ),
        (
            "insert_undelivered",
            "text[], text[], text[], text[], text[], text[], text[], timestamptz[], text[], bytea[]",
            """
            '{t-7,t-0}', '{t-7,t-0}', '{p,p}', '{b,b}', '{gold,gold}', '{Production,Production}', '{NULL,NULL}', '{now,now}',
            '{parked,parked}', ARRAY[sha256('7'), sha256('8')]
            """
        ),
        ("find_refund_states", "text[], text[]", "'{t-7,t-8}', '{t-7,t-8}'"),
        ("inspect_undelivered", "text, text[], int8", "'p-7', '{t-8}', 100"),
        ("delete_undelivered", "text[], text[]", "'{t-7,t-8}', '{p-7,p-8}'"),
        ("lease_due_refund_requests", "int8, float8, float8, float8, float8", "8, 3600, 7200, 60, 1800"),
    ]

    @Test("no statement of refund requests scans a table of 30,000 rows sequentially")
    func plans() async throws {
        let database = try await LedgerDatabase()
        try await database.run(
            """
            INSERT INTO refund_requests (notification_id, transaction_id, original_transaction_id, player_id, bundle_id,
                product_id, environment, signed_at, answer_by, due_at)
            SELECT 'n-' || n, 't-' || n, 't-' || n, CASE WHEN n % 7 > 0 THEN 'p-' || n END, 'b', 'gold', 'Production',
                now(), now() + interval '12 hours', now() + (n - 200) * interval '1 minute'
            FROM generate_series(1, 30000) AS n;
            INSERT INTO consumption_reports (bundle_id, transaction_id)
            SELECT 'b', 't-' || n FROM generate_series(1, 30000) AS n;
            INSERT INTO claims (original_transaction_id, player_id, bundle_id, granted_transaction_id)
            SELECT 't-' || n, 'p-' || n, 'b', 't-' || n FROM generate_series(1, 30000) AS n;
            INSERT INTO grants (transaction_id, player_id, bundle_id, product_id, quantity, environment, submission_id,
                granted_at)
            SELECT 't-' || n, 'p-' || n, 'b', 'gold', 1, 'Production', 's-' || n, now()
            FROM generate_series(1, 30000) AS n;
            INSERT INTO holds (transaction_id, original_transaction_id, player_id, bundle_id, product_id, reason,
                submission_key, submission_id, environment, quantity, purchased_at, catalog_version, held_at,
                source_topic, source_partition, source_offset, source_timestamp)
            SELECT 't-' || n, 't-' || n, 'p-' || n, 'b', 'gold', 'unknown_product', gen_random_uuid(), 's-' || n,
                'Production', 1, now(), 1, now(), 't', 0, n, now() FROM generate_series(1, 30000) AS n;
            INSERT INTO announced_purchases (transaction_id, original_transaction_id, bundle_id, product_id, environment,
                source, submission_id, is_renewal, purchased_at, signed_at, state, player_id)
            SELECT 't-' || n, 't-' || n, 'b', 'gold', 'Production', 'notification', 's-' || n, false, now(), now(),
                'refused', 'p-' || n FROM generate_series(1, 30000) AS n;
            INSERT INTO undelivered (transaction_id, original_transaction_id, player_id, bundle_id, product_id, environment,
                reason)
            SELECT 't-' || n, 't-' || n, 'p-' || n, 'b', 'gold', 'Production', 'parked' FROM generate_series(1, 30000) AS n;
            INSERT INTO refusals SELECT 't-' || n, 'p-' || n FROM generate_series(1, 30000) AS n;
            INSERT INTO refunds (transaction_id, bundle_id, environment, original_transaction_id, product_id, signed_at)
            SELECT 't-' || n, 'b', 'Production', 't-' || n, 'gold', now() FROM generate_series(1, 30000) AS n;
            INSERT INTO refund_notices (notification_id, transaction_id, bundle_id, environment, type, effect, signed_at)
            SELECT 'n-' || n, 't-' || n, 'b', 'Production', 'REFUND', 'revoked', now() FROM generate_series(1, 30000) AS n;
            INSERT INTO account_tokens (bundle_id, token, player_id, learnt_at)
            SELECT 'b', sha256(n::text::bytea), 'p-' || n, now() FROM generate_series(1, 30000) AS n;
            INSERT INTO player_accounts (bundle_id, token, player_id, source_partition, source_offset, source_timestamp)
            SELECT 'b', sha256(n::text::bytea), 'p-' || n, 0, n, now() FROM generate_series(1, 30000) AS n;
            ANALYZE
            """)
        // If the test forbade sequential scans, an index scan would prove nothing. Operators' sessions allow them.
        try await database.run("SET enable_seqscan = on")
        for statement in Self.statements {
            let plan = try await database.plan(
                try LedgerStatement.text(statement.name), types: statement.types, parameters: statement.parameters)
            #expect(!plan.contains("Seq Scan"), "\(statement.name)\n\(plan)")
        }
        let looking = try await database.plan(
            try LedgerStatement.text("find_unowned_refund_requests"), types: "int8", parameters: "100")
        #expect(looking.contains("refund_requests_unowned"), "\(looking)")
    }
}
