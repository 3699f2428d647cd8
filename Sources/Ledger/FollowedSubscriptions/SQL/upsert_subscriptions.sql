-- Writes subscriptions and inserts their events into the outbox, except events of erased players. A write ends the
-- lease, so the worker that has the lease notices that another fact came meanwhile.
-- $1–$19 and $28 a column each, sorted by original; $20 whether Apple got a request about it; $21–$27 the events, a
-- column each, in publishing order
WITH written AS (
    INSERT INTO subscriptions AS known (
        original_transaction_id, player_id, bundle_id, product_id, subscription_group_id, state, expires_at,
        grace_expires_at, will_renew, renewal_product_id, environment, revision, period_began_at, state_told_at,
        will_renew_told_at, renewal_product_told_at, due_at, tries, history_since, periods_since, updated_at,
        checked_at)
    SELECT original_transaction_id, player_id, bundle_id, product_id, subscription_group_id, state, expires_at,
        grace_expires_at, will_renew, renewal_product_id, environment, revision, period_began_at, state_told_at,
        will_renew_told_at, renewal_product_told_at,
        -- No worker checks a subscription of an erased player.
        CASE WHEN NOT EXISTS (SELECT FROM erasures WHERE pseudonym = told.player_id) THEN due_at END, tries,
        history_since, periods_since, now(), CASE WHEN is_check THEN now() END
    FROM unnest(
        $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::timestamptz[], $8::timestamptz[],
        $9::bool[], $10::text[], $11::text[], $12::int4[], $13::timestamptz[], $14::timestamptz[], $15::timestamptz[],
        $16::timestamptz[], $17::timestamptz[], $18::int4[], $19::timestamptz[], $20::bool[],
        $28::timestamptz[])
        AS told (
            original_transaction_id, player_id, bundle_id, product_id, subscription_group_id, state, expires_at,
            grace_expires_at, will_renew, renewal_product_id, environment, revision, period_began_at, state_told_at,
            will_renew_told_at, renewal_product_told_at, due_at, tries, history_since, is_check,
            periods_since)
    ON CONFLICT (original_transaction_id) DO UPDATE
    SET player_id = excluded.player_id, product_id = excluded.product_id,
        subscription_group_id = excluded.subscription_group_id, state = excluded.state,
        expires_at = excluded.expires_at, grace_expires_at = excluded.grace_expires_at,
        will_renew = excluded.will_renew, renewal_product_id = excluded.renewal_product_id,
        revision = excluded.revision, period_began_at = excluded.period_began_at,
        state_told_at = excluded.state_told_at, will_renew_told_at = excluded.will_renew_told_at,
        renewal_product_told_at = excluded.renewal_product_told_at, due_at = excluded.due_at, tries = excluded.tries,
        history_since = excluded.history_since, periods_since = excluded.periods_since, leased_until = NULL,
        takes = CASE WHEN excluded.checked_at IS NULL THEN known.takes ELSE 0 END,
        checked_at = coalesce(excluded.checked_at, known.checked_at),
        updated_at = CASE WHEN known.revision = excluded.revision THEN known.updated_at ELSE excluded.updated_at END
), dated AS (
    UPDATE subscription_receipts AS kept
    SET over_on = CASE WHEN told.state IN ('expired', 'revoked') THEN current_date END
    FROM unnest($1::text[], $6::text[]) AS told (original_transaction_id, state)
    WHERE kept.original_transaction_id = told.original_transaction_id
        AND (kept.over_on IS NULL) = (told.state IN ('expired', 'revoked'))
)
INSERT INTO outbox (event_id, source_topic, source_partition, ordinal, record_key, traceparent, event)
SELECT *
FROM unnest($21::uuid[], $22::text[], $23::int4[], $24::int4[], $25::text[], $26::text[], $27::bytea[])
    AS told (event_id, source_topic, source_partition, ordinal, record_key, traceparent, event)
WHERE NOT EXISTS (SELECT FROM erasures WHERE pseudonym = told.record_key)
ON CONFLICT DO NOTHING
RETURNING event_id;
