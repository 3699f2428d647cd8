import Fulfillment
import Ledger
import Postgres
import Testing

@Suite("The PostgreSQL plans of operators' commands on large tables")
struct CommandPlanTests {
    private static let statements: [(name: String, types: String, parameters: String)] = [
        ("inspect_parked", "text, int8, int8", "'s-7', 100, 0"),
        ("inspect_holds", "text, int8, int8", "'s-7', 100, 0"),
        ("inspect_refusals", "text, int8", "'p-7', 100"),
        ("inspect_decisions", "text, int8", "'s-7', 100"),
        ("inspect_grant_decisions", "text, int8", "'p-7', 100"),
        ("find_told_rejections", "uuid, int4, int8", "'00000000-0000-0000-0000-000000000000', 30, 20000"),
        ("find_told_grants", "int4, int8", "30, 20000"),
        ("find_told_subscriptions", "int4, int8", "30, 20000"),
        ("find_told_refund_requests", "int4, int8", "30, 20000"),
        ("find_told_announced", "int4, int8", "30, 20000"),
        ("count_unclaimed", "text, text, text, text, timestamptz", "NULL, 'b7', NULL, 'gold', now()"),
        (
            "list_unclaimed", "int8, int8, text, text, text, text, timestamptz, int8",
            "100, 0, NULL, 'b7', NULL, 'gold', now(), 5"
        ),
        ("list_unclaimed_kinds", "", ""),
        (
            "retry_unclaimed_purchases", "text, text, text, text, timestamptz, int8",
            "NULL, NULL, 'crashed', NULL, NULL, 1000"
        ),
        ("find_grant", "text", "'t-7'"),
        ("find_grant_in_force", "text", "'t-7'"),
        ("insert_grant_decision", "text, text, text, text", "'t-7', 'revoke', 'ann', NULL"),
        ("find_parked_by_submission", "text, text, int8", "'s-7', 'p-7', NULL"),
        ("find_parked_orders", "text, int8", "'o-7', 10"),
        ("retry_parked", "uuid[]", "'{00000000-0000-0000-0000-000000000000}'"),
        (
            "retry_parked_page", "uuid, int8, text, text, text, timestamptz",
            "'00000000-0000-0000-0000-000000000000', 2000, 'b', NULL, 'p-7', now()"
        ),
        (
            "retry_blocked_parked_page", "uuid, int8, text, float8, text[]",
            "'00000000-0000-0000-0000-000000000000', 2000, 'b', 10, '{doubt}'"
        ),
        ("count_holds", "text, text, text, text, text, timestamptz", "NULL, 'b7', NULL, 'p-7', 'gold', now()"),
        (
            "list_holds", "int8, int8, text, text, text, text, text, timestamptz",
            "100, 0, NULL, NULL, 'unknown_product', 'p-7', 'gold', now()"
        ),
        (
            "list_holds_page", "timestamptz, text, text, int8, text, text, text, text, text, timestamptz",
            "'-infinity', '', '', 200, NULL, 'b7', 'unknown_product', 'p-7', 'gold', now()"
        ),
        ("count_parked", "text, text, text, text, timestamptz", "NULL, NULL, 'doubt', 'p-7', now()"),
        ("list_parked", "int8, int8, text, text, text, text, timestamptz", "100, 0, NULL, 'b7', NULL, 'p-7', now()"),
        ("find_parked", "text, text, text, timestamptz, int8", "'b7', NULL, 'p-7', now(), 10"),
        (
            "lease_chosen_parked", "float8, int8, text, text, text, text, timestamptz, uuid[]",
            "60, 100, NULL, 'b7', NULL, 'p-7', now(), '{}'"
        ),
        (
            "lease_due_subscriptions", "text[], int8[], float8, int8",
            "'{b1,b2,b3}', '{5,5,5}', 60, 10"
        ),
        ("find_subscriptions", "text[]", "'{t-7,t-8}'"),
        ("list_subscriptions", "int8, int8, text, text", "100, 0, 'b7', 'active'"),
        ("inspect_subscriptions", "text, text[], int8, int8", "'p-7', '{t-8}', 100, 0"),
        ("lease_chosen_subscription", "text, float8", "'t-7', 60"),
        ("release_hold", "text, text, text", "'ann', 't-7', NULL"),
        (
            "release_holds_page", "text, text, int8, text, text, text, text, timestamptz, int8",
            "'ann', '', 1000, NULL, 'unknown_product', 'p-7', 'gold', now(), NULL"
        ),
        ("list_refund_kinds", "int8", "20000"),
        (
            "list_refunds", "int8, int8, text, text, text, text, timestamptz",
            "100, 0, 'b7', NULL, NULL, NULL, now() - interval '1 day'"
        ),
    ]

    /// Returns the statement's plan if the plan reads a table whole, otherwise nil. A counting statement also has a
    /// branch for all rows, which these parameters do not run.
    private func wholeRead(
        by statement: (name: String, types: String, parameters: String), in database: LedgerDatabase
    ) async throws -> String? {
        let counts = statement.name.hasPrefix("count_")
        let plan = try await database.plan(
            try LedgerStatement.text(statement.name), types: statement.types, parameters: statement.parameters,
            analyze: counts)
        let scans = plan.split(separator: "\n").filter { $0.contains("Seq Scan") }
        return scans.allSatisfy { counts && $0.hasSuffix("(never executed)") } ? nil : plan
    }

    @Test("no operator's command scans a table of 100,000 rows to read a few rows")
    func plans() async throws {
        let database = try await LedgerDatabase()
        try await database.run(
            """
            INSERT INTO parked (id, source_topic, source_partition, source_offset, source_timestamp, submission_key,
                submission_id, player_id, bundle_id, proof, reason, due_at, order_id)
            SELECT gen_random_uuid(), 't', 0, n, now(), gen_random_uuid(), 's-' || n, 'p-' || n, 'b' || n % 50, sha256('p'),
                CASE WHEN n % 2 = 0 THEN 'doubt' ELSE 'player_share' END, now() + interval '1 hour', 'o-' || n
            FROM generate_series(1, 100000) AS n;
            INSERT INTO holds (transaction_id, original_transaction_id, player_id, bundle_id, product_id, reason,
                submission_key, submission_id, environment, quantity, purchased_at, catalog_version, held_at,
                source_topic, source_partition, source_offset, source_timestamp)
            SELECT 't-' || n, 'o-' || n, 'p-' || n, 'b' || n % 50, 'gold', 'unknown_product', gen_random_uuid(), 's-' || n,
                'Production', 1, now(), 1, now(), 't', 0, n, now() FROM generate_series(1, 100000) AS n;
            INSERT INTO parked_submissions (id, content, submission) SELECT id, sha256('c'), 's' FROM parked;
            INSERT INTO held_submissions SELECT DISTINCT submission_key, 's'::bytea FROM holds;
            INSERT INTO refunds (transaction_id, bundle_id, environment, original_transaction_id, product_id, signed_at)
            SELECT 't-' || n, 'b' || n % 50, 'Production', 'o-' || n, 'gold', now() FROM generate_series(1, 100000) AS n;
            INSERT INTO subscriptions (original_transaction_id, player_id, bundle_id, product_id, state, expires_at,
                environment, revision, updated_at, period_began_at, due_at)
            SELECT 't-' || n, 'p-' || n, 'b' || n % 50, 'monthly', 'active', now() + n * interval '1 minute', 'Production',
                1, now(), now(), now() + (n - 200) * interval '1 minute' FROM generate_series(1, 100000) AS n;
            INSERT INTO subscription_receipts SELECT 't-' || n, 'r'::bytea FROM generate_series(1, 20000) AS n;
            INSERT INTO unowned_subscriptions SELECT 'u-' || n, 'b', 'p', NULL, 'active', NULL, NULL, NULL, NULL,
                'Production', now() FROM generate_series(1, 20000) AS n;
            INSERT INTO offsets_decided_again (group_id, topic, partition, below_offset)
            SELECT 'g-' || n / 1000, 't', n % 1000, n FROM generate_series(1, 20000) AS n;
            INSERT INTO refusals SELECT 't-' || n, 'p-' || n FROM generate_series(1, 100000) AS n;
            INSERT INTO hold_decisions (transaction_id, player_id, bundle_id, product_id, submission_id, reason, decision,
                operator)
            SELECT 't-' || n, 'p-' || n, 'b', 'gold', 's-' || n, 'unknown_product', 'release', 'ann'
            FROM generate_series(1, 100000) AS n;
            INSERT INTO grant_decisions (transaction_id, player_id, bundle_id, product_id, decision, operator)
            SELECT 't-' || n, 'p-' || n, 'b', 'gold', 'revoke', 'ann' FROM generate_series(1, 100000) AS n;
            INSERT INTO grants (transaction_id, player_id, bundle_id, product_id, quantity, environment, submission_id,
                granted_at)
            SELECT 't-' || n, 'p-' || n, 'b', 'gold', 1, 'Production', 's-' || n, now()
            FROM generate_series(1, 100000) AS n;
            INSERT INTO claims (original_transaction_id, player_id, bundle_id)
            SELECT 'o-' || n, 'p-' || n, 'b' FROM generate_series(1, 100000) AS n ON CONFLICT DO NOTHING;
            INSERT INTO refund_requests (notification_id, transaction_id, original_transaction_id, bundle_id, product_id,
                environment, signed_at, answer_by, taken_at)
            SELECT 'n-' || n, 't-' || n, 'o-' || n, 'b', 'gold', 'Production', now(), now(), now() - n * interval '1 minute'
            FROM generate_series(1, 100000) AS n;
            INSERT INTO announced_purchases (transaction_id, original_transaction_id, bundle_id, product_id, environment,
                source, submission_id, is_renewal, purchased_at, signed_at, stored_at, state, evidence)
            SELECT 't-' || n, 'o-' || n, 'b' || n % 50, 'gold', 'Production', 'notification', 'apple-' || n, false, now(),
                now(), now() - n * interval '1 minute', CASE WHEN n % 50 = 7 THEN 'unclaimed' ELSE 'refused' END, '{}'
            FROM generate_series(1, 100000) AS n;
            INSERT INTO account_tokens SELECT 'b' || n % 50, sha256(n::text::bytea) FROM generate_series(1, 20000) AS n;
            INSERT INTO account_token_senders SELECT bundle_id, token, 'p' FROM account_tokens;
            ANALYZE
            """)
        // An operator's session has enable_seqscan on.
        try await database.run("SET enable_seqscan = on")
        for statement in Self.statements {
            let plan = try await wholeRead(by: statement, in: database)
            #expect(plan == nil, "\(statement.name)\n\(plan ?? "")")
        }
        // The plan of a statement that calls a function leaves out the function's reads, so the test counts these
        // reads.
        for table in ["holds", "parked"] {
            let read = try await database.number(
                """
                SELECT seq_tup_read FROM pg_stat_xact_user_tables
                WHERE relname = '\(table)' AND (SELECT count(*) FROM kinds_of_\(table)(NULL, NULL)) >= 50
                """)
            #expect(read == 0, "kinds_of_\(table)")
        }
    }

    @Test("if an operator searches for an event id, PostgreSQL reads only the last days' grants, by an index")
    func recentGrants() async throws {
        let database = try await LedgerDatabase()
        try await database.run(
            """
            INSERT INTO grants (transaction_id, player_id, bundle_id, product_id, quantity, environment, submission_id, granted_at,
                submission_key, event)
            SELECT 't-' || n, 'p-' || n, 'b', 'gold', 1, 'Production', 's-' || n, now() - (100000 - n) * interval '10 minutes',
                gen_random_uuid(), convert_to(json_build_object('event_id', 'e-' || n)::text, 'UTF8')
            FROM generate_series(1, 100000) AS n;
            ANALYZE
            """)
        try await database.run("SET enable_seqscan = on")
        let plan = try await database.plan(
            try LedgerStatement.text("find_event_names"), types: "text, int4, int8", parameters: "'e-99990', 2, 100")
        #expect(plan.contains("grants_days") && !plan.contains("Seq Scan on grants"), "\(plan)")
    }
}
