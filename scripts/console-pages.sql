-- Makes a large and simple database for scripts/console-pages.sh, after schema.sql. The psql variables are `grants` and
-- `rows`, the number of rows in each list.
--
-- The grants are of the last year. Nine in ten are consumables. One player has 3,000 grants, and each other player has
-- about ten. The outcomes are of the last 30 days: as many rejections as grants. Each other table is as full as a large
-- fleet leaves it.
SET session_replication_role = replica;
SET client_min_messages = warning;
SET work_mem = '256MB';

CREATE FUNCTION pg_temp.id_of(n bigint) RETURNS text IMMUTABLE LANGUAGE sql
    RETURN '20000' || lpad((n * 7919 % 1000000007)::text, 10, '0');
CREATE FUNCTION pg_temp.app_of(n bigint) RETURNS text IMMUTABLE LANGUAGE sql
    RETURN 'com.example.' || (ARRAY['castle', 'chess', 'game'])[n % 3 + 1];
CREATE FUNCTION pg_temp.event_of(kind text, n bigint) RETURNS uuid IMMUTABLE LANGUAGE sql
    RETURN overlay(overlay(md5(kind || n) placing '5' from 13) placing 'a' from 17)::uuid;

CREATE UNLOGGED TABLE made AS
SELECT n, pg_temp.id_of(n) AS id, pg_temp.app_of(n) AS app,
    CASE WHEN n <= 3000 THEN 'player-heavy' ELSE 'player-' || n % (:grants / 10 + 1) END AS player,
    CASE WHEN n % 10 = 0 THEN '30000' || lpad((n / 40)::text, 10, '0') ELSE pg_temp.id_of(n) END AS original,
    now() - (:grants - n) * (interval '365 days' / :grants) AS at, n % 10 = 0 AS is_period
FROM generate_series(1::bigint, :grants) AS n;

ALTER TABLE grants DROP CONSTRAINT grants_pkey;
DROP INDEX grants_players, grants_originals, grants_accounts;
INSERT INTO grants (transaction_id, original_transaction_id, player_id, bundle_id, product_id, quantity, environment, purchased_at,
    submission_id, granted_at, submission_key, kind, event, catalog_version, price_milliunits, currency, revision, revoked_at,
    revoked_units, apple_revoked_at, apple_revocation_reason)
SELECT id, original, player, app, app || '.gems.100', 1, 'Production', at, 's-' || n, at, md5('s-' || n)::uuid,
    CASE WHEN is_period THEN 'auto_renewable_subscription' ELSE 'consumable' END,
    convert_to(format('{"event_id":"%s","type":"receipt.granted","submission_id":"s-%s","player_id":"%s","bundle_id":"%s",'
        '"order_id":"order-%s","transaction_id":"%s","original_transaction_id":"%s","product_id":"%s.gems.100","quantity":1,'
        '"environment":"Production","occurred_at":"2026-11-27T12:00:00Z","risk":[],"transactions":[{"transaction_id":"%s",'
        '"product_id":"%s.gems.100","outcome":"granted"}],"revision":1,"payload":{"gems":100}}',
        pg_temp.event_of('grant', n), n, player, app, n, id, original, app, id, app), 'UTF8'),
    1, 4990, 'EUR', CASE WHEN is_refunded THEN 2 ELSE 1 END, CASE WHEN is_refunded THEN at END, CASE WHEN is_refunded THEN 1 END,
    CASE WHEN is_refunded THEN at END, CASE WHEN is_refunded THEN 'refund' END
FROM (SELECT *, n % 33 = 0 AND n % 7 > 0 AS is_refunded FROM made) AS granted;
ALTER TABLE grants ADD PRIMARY KEY (transaction_id);

ALTER TABLE claims DROP CONSTRAINT claims_pkey;
INSERT INTO claims (original_transaction_id, player_id, bundle_id) SELECT original, player, app FROM made WHERE NOT is_period;
INSERT INTO claims (original_transaction_id, player_id, bundle_id)
SELECT DISTINCT ON (original) original, player, app FROM made WHERE is_period ORDER BY original, n;
ALTER TABLE claims ADD PRIMARY KEY (original_transaction_id);

INSERT INTO subscriptions (original_transaction_id, player_id, bundle_id, product_id, state, expires_at, environment, revision,
    updated_at, period_began_at, will_renew, renewal_product_id)
SELECT DISTINCT ON (original) original, player, app, app || '.pass',
    (ARRAY['active', 'active', 'expired', 'billing_retry', 'grace_period', 'revoked'])[n / 40 % 6 + 1],
    at + interval '30 days', 'Production', 4, at, at, true, app || '.pass'
FROM made WHERE is_period ORDER BY original, n DESC;

INSERT INTO refunds (transaction_id, bundle_id, environment, original_transaction_id, product_id, revoked_at, reason,
    refunded_milli_percent, signed_at, noted_at)
SELECT id, app, 'Production', original, app || '.gems.100', CASE WHEN n % 7 > 0 THEN at END, CASE WHEN n % 7 > 0 THEN 'refund' END,
    100000, at, at
FROM made WHERE n % 33 = 0;
INSERT INTO refund_notices (notification_id, transaction_id, bundle_id, environment, type, effect, signed_at)
SELECT 'notice-' || n, id, app, 'Production', 'REFUND', 'revoked', at FROM made WHERE n % 33 = 0;

SELECT make_outcomes_day(current_date - day) FROM generate_series(-1, 31) AS day;
INSERT INTO outcomes (day, source_topic, source_partition, source_offset, content, submission_key, submission_id, player_id,
    bundle_id, proof, granted_transaction_ids, answer, decided_at, story)
SELECT (at AT TIME ZONE 'UTC')::date, 'receipt-submissions', n % 64, 2 * n, substr(sha256(id::bytea), 1, 16),
    md5('s-' || n)::uuid, 's-' || n, player, app, sha256(id::bytea), ARRAY[id], NULL, at,
    '{"kind":"receipt","tries":[{"at":1795167000000,"endpoint":"verifyReceipt","status":0}]}'
FROM made WHERE at > now() - interval '30 days'
UNION ALL
SELECT (at AT TIME ZONE 'UTC')::date, 'receipt-submissions', n % 64, 2 * n + 1, substr(sha256(id::bytea), 1, 16),
    md5('r-' || n)::uuid, 'r-' || n, player, app, sha256(('r' || id)::bytea), '{}',
    convert_to(format('{"event_id":"%s","type":"receipt.rejected","submission_id":"r-%s","player_id":"%s","bundle_id":"%s",'
        '"order_id":"refused-%s","reason":"already_granted","detail":"It was granted before.","occurred_at":"2026-11-27T12:00:00Z",'
        '"transactions":[{"transaction_id":"%s","product_id":"%s.gems.100","outcome":"already_granted"}]}',
        pg_temp.event_of('refused', n), n, player, app, n, id, app), 'UTF8'),
    at, '{"kind":"receipt","tries":[{"at":1795167000000,"endpoint":"verifyReceipt","status":0}]}'
FROM made WHERE at > now() - interval '30 days';

INSERT INTO holds (transaction_id, original_transaction_id, player_id, bundle_id, product_id, reason, submission_key, submission_id,
    environment, quantity, purchased_at, catalog_version, held_at, source_topic, source_partition, source_offset, source_timestamp,
    evidence)
SELECT id, id, 'player-' || n % 20000, app, app || '.gems.' || n % 40,
    (ARRAY['unknown_product', 'retired_product', 'daily_limit', 'before_cutover', 'currency_not_allowed', 'kind_mismatch',
        'unreadable_transaction', 'ownership_disputed', 'binding_missing'])[n % 9 + 1],
    md5('h-' || n)::uuid, 'h-' || n, 'Production', 1, at, 1, at, 'receipt-submissions', n % 64, n, at,
    convert_to(format('{"bundle":"%s","environment":"Production","purchases":[{"id":"%s","product":"%s.gems.%s","quantity":1,'
        '"purchased":1795167000000,"currency":"EUR","price":4990}]}', app, id, app, n % 40), 'UTF8')
FROM (SELECT n, '40000' || lpad(n::text, 10, '0') AS id, pg_temp.app_of(n) AS app,
    now() - (:rows - n) * (interval '60 days' / :rows) AS at FROM generate_series(1, :rows) AS n) AS held;
INSERT INTO held_submissions (submission_key, submission) SELECT submission_key, '{}' FROM holds;
INSERT INTO hold_decisions (transaction_id, player_id, bundle_id, product_id, submission_id, reason, decision, operator,
    decided_at, event_id)
SELECT '45000' || lpad(n::text, 10, '0'), 'player-' || n, pg_temp.app_of(n), 'gems', 'd-' || n, 'daily_limit', 'reject', 'ann',
    now() - n * interval '1 minute', pg_temp.event_of('decided', n)
FROM generate_series(1, :rows) AS n;

INSERT INTO parked (id, source_topic, source_partition, source_offset, source_timestamp, submission_key, submission_id, player_id,
    bundle_id, proof, reason, detail, parked_at, due_at, order_id)
SELECT md5('p-' || n)::uuid, 'receipt-submissions', n % 64, n, at, md5('p-' || n)::uuid, 'p-' || n, 'player-' || n % 20000,
    pg_temp.app_of(n), sha256(('p-' || n)::bytea),
    (ARRAY['apple_trouble', 'doubt', 'blocked_shared_secret', 'blocked_server_api'])[n % 4 + 1], 'Apple gave no answer', at, now(),
    'waiting-p-' || n
FROM (SELECT n, now() - (:rows - n) * (interval '5 days' / :rows) AS at FROM generate_series(1, :rows) AS n) AS waiting;
-- PostgreSQL can hardly compress these texts, as it can hardly compress receipts.
INSERT INTO parked_submissions (id, content, submission)
SELECT id, sha256('p'), convert_to(format('{"submission_id":"%s","player_id":"%s","order_id":"waiting-%s","receipt_data":"%s"}',
    submission_id, player_id, submission_id,
    (SELECT string_agg(md5(submission_id || part), '') FROM generate_series(1, 150) AS part)), 'UTF8')
FROM parked;

INSERT INTO announced_purchases (transaction_id, original_transaction_id, bundle_id, product_id, environment, source, submission_id,
    is_renewal, purchased_at, signed_at, stored_at, state, reason, evidence, catalog_version, token)
SELECT id, id, pg_temp.app_of(n), pg_temp.app_of(n) || '.gems.' || n % 40, 'Production', 'notification', 'apple-' || id, false, at,
    at, at, 'unclaimed', (ARRAY['unknown_player', 'not_delivered', 'bought_before'])[n % 3 + 1], '{}', 1, sha256(id::bytea)
FROM (SELECT n, '50000' || lpad(n::text, 10, '0') AS id, now() - (:rows - n) * (interval '60 days' / :rows) AS at
    FROM generate_series(1, :rows) AS n) AS told;

-- As many rows as one worker can sample in three days.
INSERT INTO local_refusals (event_id, submission_id, player_id, bundle_id, reason, detail_code, detail, occurred_at, kept_at)
SELECT pg_temp.event_of('local', n), CASE WHEN n % 20 = 0 THEN 'receipt-submissions/3/' || n ELSE 'l-' || n END,
    'player-' || n % 100000, CASE WHEN n % 20 > 0 THEN 'com.example.castle' END,
    CASE WHEN n % 20 = 0 THEN (ARRAY['malformed_message', 'too_large', 'bad_signature'])[n / 20 % 3 + 1]
        ELSE 'malformed_receipt' END,
    'not_base64', 'The proof is not base64: it looks cut off.', now() - n * interval '0.3 s', now() - n * interval '0.3 s'
FROM generate_series(1, 864000) AS n;
INSERT INTO console_changes (operator, change, subject, note, shown, began_at, ended_at, result)
SELECT 'ann', 'release', '4000000000' || n, 'ticket ' || n, 1, now() - n * interval '1 minute', now(), '1 released'
FROM generate_series(1, :rows) AS n;

CREATE TEMPORARY TABLE names AS
SELECT 'class' AS kind, name FROM unnest(ARRAY['foreign', 'junk', 'forged', 'repeat', 'unverifiable', 'genuine', 'other']) AS name
UNION ALL SELECT 'outcome', 'receipt.rejected reason_' || n FROM generate_series(1, 50) AS n
UNION ALL SELECT 'dead_letter', name FROM unnest(ARRAY['malformed_message', 'bad_signature', 'too_large']) AS name
UNION ALL SELECT 'apple', 'verifyReceipt production result_' || n FROM generate_series(1, 20) AS n
UNION ALL SELECT 'apple_seconds', name FROM unnest(ARRAY['0.05', '0.1', '0.25', '0.5', '1', '2.5', '5', '10', '+Inf']) AS name;
INSERT INTO traffic_minutes (began_at, kind, name, count)
SELECT date_trunc('minute', now()) - n * interval '1 minute', kind, name, 1 + n % 50 FROM generate_series(0, 2880) AS n, names;
INSERT INTO traffic_hours (began_at, kind, name, count)
SELECT date_trunc('hour', now()) - n * interval '1 hour', kind, name, 1 + n % 50 FROM generate_series(0, 2160) AS n, names;

DROP TABLE made;
