-- The insert decides: what comes back was granted now, what does not was granted before. Arrays sorted by transaction.
-- $25–$28 of what Apple is to be told that it is delivered: granted here, or before
-- What Apple told of by itself waits no longer where it is granted. The owner of further periods is known from now on, and of
-- subscriptions that go on from this one.
WITH granted AS (
    INSERT INTO grants (
        transaction_id, original_transaction_id, player_id, bundle_id, product_id, quantity, environment, purchased_at,
        submission_id, granted_at, submission_key, kind, expires_at, event, catalog_version, is_bound,
        app_transaction_id, price_milliunits, currency, storefront, offer_type, offer_discount_type, transaction_reason,
        is_trial)
    SELECT *
    FROM unnest(
        $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::int4[], $7::text[], $8::timestamptz[],
        $9::text[], $10::timestamptz[], $11::uuid[], $12::text[], $13::timestamptz[], $14::bytea[], $15::int8[],
        $16::bool[], $17::text[], $18::int8[], $19::text[], $20::text[], $21::int4[], $22::text[], $23::text[],
        $24::bool[])
    ON CONFLICT DO NOTHING
    RETURNING transaction_id
), finishing AS (
    INSERT INTO finishes (transaction_id, bundle_id, environment, event_id)
    SELECT * FROM unnest($25::text[], $26::text[], $27::text[], $28::uuid[])
    ON CONFLICT DO NOTHING
), claimed AS (
    UPDATE announced_purchases
    SET state = CASE WHEN state = 'held' THEN state ELSE 'claimed' END,
        reason = CASE WHEN state = 'held' THEN reason END, due_at = NULL, awaits_submission = false, leased_until = NULL,
        evidence = NULL, token = NULL, decided_at = now(), takes = 0, is_alone = false, deaths_alone = 0
    WHERE transaction_id = ANY ($1::text[])
        AND (state IN ('waiting', 'unclaimed', 'ignored') OR state IN ('claimed', 'held') AND evidence IS NOT NULL)
), following AS (
    UPDATE announced_purchases
    SET state = 'waiting', reason = NULL, due_at = now(), awaits_submission = false, leased_until = NULL,
        decided_at = now(), takes = 0, is_alone = false, deaths_alone = 0
    WHERE (original_transaction_id = ANY ($2::text[]) OR previous_original_transaction_id = ANY ($2::text[]))
        AND transaction_id <> ALL ($1::text[]) AND is_renewal AND evidence IS NOT NULL
        AND state IN ('waiting', 'unclaimed', 'ignored') AND reason IS DISTINCT FROM 'crashed'
)
SELECT transaction_id FROM granted;
