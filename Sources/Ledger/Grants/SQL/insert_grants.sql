-- Inserts grants. Returns only the rows that were not granted before.
-- A grant ends the wait of an announced purchase. A grant also shows the owner of further periods, and of subscriptions
-- that continue the granted subscription. So the statement makes the announced purchases of these periods and
-- subscriptions due.
-- $1–$24 a column each, sorted by transaction; $25–$28 deliveries to report to Apple, of grants here or before; $29–$30
-- transactions and originals of grants that Apple may have announced, or whose further periods or continuing
-- subscriptions Apple may have announced; $31 claims of the periods that the purchases pay for, or null
WITH granted AS (
    INSERT INTO grants (
        transaction_id, original_transaction_id, player_id, bundle_id, product_id, quantity, environment, purchased_at,
        submission_id, granted_at, submission_key, kind, expires_at, event, catalog_version, is_bound,
        app_transaction_id, price_milliunits, currency, storefront, offer_type, offer_discount_type, transaction_reason,
        is_trial, period_id)
    SELECT unnest($1::text[]), unnest($2::text[]), unnest($3::text[]), unnest($4::text[]), unnest($5::text[]),
        unnest($6::int4[]), unnest($7::text[]), unnest($8::timestamptz[]), unnest($9::text[]),
        unnest($10::timestamptz[]), unnest($11::uuid[]), unnest($12::text[]), unnest($13::timestamptz[]),
        unnest($14::bytea[]), unnest($15::int8[]), unnest($16::bool[]), unnest($17::text[]), unnest($18::int8[]),
        unnest($19::text[]), unnest($20::text[]), unnest($21::int4[]), unnest($22::text[]), unnest($23::text[]),
        unnest($24::bool[]), unnest($31::text[])
    ON CONFLICT DO NOTHING
    RETURNING transaction_id
), finishing AS (
    INSERT INTO finishes (transaction_id, bundle_id, environment, event_id)
    SELECT unnest($25::text[]), unnest($26::text[]), unnest($27::text[]), unnest($28::uuid[])
    ON CONFLICT DO NOTHING
), claimed AS (
    UPDATE announced_purchases
    SET state = CASE WHEN state = 'held' THEN state ELSE 'claimed' END,
        reason = CASE WHEN state = 'held' THEN reason END, due_at = NULL, awaits_submission = false, leased_until = NULL,
        evidence = NULL, token = NULL, decided_at = now(), takes = 0, is_alone = false, deaths_alone = 0
    WHERE transaction_id = ANY ($29::text[])
        AND (state IN ('waiting', 'unclaimed', 'ignored') OR state IN ('claimed', 'held') AND evidence IS NOT NULL)
), following AS (
    UPDATE announced_purchases
    SET state = 'waiting', reason = NULL, due_at = now(), awaits_submission = false, leased_until = NULL,
        decided_at = now(), takes = 0, is_alone = false, deaths_alone = 0
    WHERE (original_transaction_id = ANY ($30::text[]) OR previous_original_transaction_id = ANY ($30::text[]))
        AND transaction_id <> ALL ($1::text[]) AND is_renewal AND evidence IS NOT NULL
        AND state IN ('waiting', 'unclaimed', 'ignored') AND reason IS DISTINCT FROM 'crashed'
)
SELECT transaction_id FROM granted;
