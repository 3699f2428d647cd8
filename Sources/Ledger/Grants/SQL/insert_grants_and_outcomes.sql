-- Does the same as insert_missing_grants_and_outcomes.sql, but has ON CONFLICT DO NOTHING only for finishes. An
-- existing row fails the statement with 23505. So PostgreSQL need not look for each row before it inserts the row,
-- which is a tenth of a batch's cost.
-- $1–$31 are those of insert_grants.sql; $32–$62 are $1–$31 of insert_outcomes.sql
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
), decided AS (
    INSERT INTO outcomes (
        day, source_topic, source_partition, source_offset, content, submission_key, submission_id, player_id,
        bundle_id, proof, granted_transaction_ids, answer, decided_at, story)
    SELECT unnest($32::date[]), unnest($33::text[]), unnest($34::int4[]), unnest($35::int8[]), unnest($36::bytea[]),
        unnest($37::uuid[]), unnest($38::text[]), unnest($39::text[]), unnest($40::text[]), unnest($41::bytea[]),
        unnest($42::text[])::text[], unnest($43::bytea[]), unnest($44::timestamptz[]), unnest($62::text[])
    RETURNING 1
), queued AS (
    INSERT INTO outbox (
        event_id, source_topic, source_partition, ordinal, record_key, traceparent, transaction_id, event)
    SELECT unnest($45::uuid[]), unnest($46::text[]), unnest($47::int4[]), unnest($48::int4[]), unnest($49::text[]),
        unnest($50::text[]), unnest($51::text[]), unnest($52::bytea[])
), proven AS (
    INSERT INTO proofs (proof, evidence, transaction_ids, seen_on)
    SELECT unnest($53::bytea[]), unnest($54::bytea[]), unnest($55::text[])::text[], unnest($56::date[])
), progressed AS (
    INSERT INTO partition_progress AS known (topic, partition, writer, decided_offset)
    SELECT topic, partition, writer, (decided / 4096 + 1) * 4096
    FROM (
        SELECT unnest($57::text[]) AS topic, unnest($58::int4[]) AS partition, unnest($59::int4[]) AS writer,
            unnest($60::int8[]) AS decided
    ) AS progress
    WHERE progress.decided > coalesce((
        SELECT before.decided_offset FROM partition_progress AS before
        WHERE before.topic = progress.topic AND before.partition = progress.partition AND before.writer = progress.writer
        LIMIT 1), -1)
    ON CONFLICT (topic, partition, writer) DO UPDATE SET decided_offset = excluded.decided_offset
        WHERE known.decided_offset < excluded.decided_offset
), acknowledged AS (
    DELETE FROM outbox WHERE event_id = ANY ($61::uuid[])
)
SELECT (SELECT count(*) FROM granted) AS granted, (SELECT count(*) FROM decided) AS decided,
    database_history() AS history;
