-- Leases due holds, oldest first, then holds that an older catalog decided. Leaves a hold with three leases without a
-- result (takes) to the statement file lease_suspect_hold.sql, and a hold that killed its workers to an operator.
-- A lease that ends more than ten minutes from now counts as over: a clock that was ahead must have written it.
-- $1 how many; $2 seconds of a lease, and as many more for each earlier lease without a result; $3 the newest
-- catalog
WITH due AS (
    SELECT transaction_id, player_id
    FROM holds
    WHERE due_at <= now() AND takes < 3
        AND (leased_until IS NULL OR leased_until NOT BETWEEN now() AND now() + interval '10 minutes')
    ORDER BY due_at
    LIMIT $1
    FOR UPDATE SKIP LOCKED
), outdated AS (
    SELECT transaction_id, player_id
    FROM holds
    WHERE due_at IS NULL AND catalog_version < $3 AND takes < 3 AND deaths_alone < 3
        AND (leased_until IS NULL OR leased_until NOT BETWEEN now() AND now() + interval '10 minutes')
    ORDER BY catalog_version
    LIMIT $1 - (SELECT count(*) FROM due)
    FOR UPDATE SKIP LOCKED
), taken AS (
    SELECT * FROM due UNION ALL SELECT * FROM outdated
), leased AS (
    UPDATE holds
    SET leased_until = now() + make_interval(secs => $2 * (1 + least(takes, 5))), takes = takes + 1
    FROM taken
    WHERE holds.transaction_id = ANY (ARRAY(SELECT transaction_id FROM taken))
        AND holds.transaction_id = taken.transaction_id AND holds.player_id = taken.player_id
    RETURNING holds.*
)
SELECT transaction_id, original_transaction_id, player_id, product_id, reason, waived, released_at IS NOT NULL AS is_released,
    held_submissions.submission, leased.submission_key, source_topic, source_partition, source_offset,
    source_timestamp, traceparent, evidence, tries, leased_until,
    CASE WHEN reason = 'daily_limit' THEN (
        SELECT count(*) FROM grants
        WHERE grants.player_id = leased.player_id AND grants.bundle_id = leased.bundle_id
            AND grants.product_id = leased.product_id
            AND (grants.revoked_at IS NULL OR coalesce(grants.revoked_units, grants.quantity) < grants.quantity)
            AND grants.purchased_at >= date_trunc('day', leased.purchased_at AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
            AND grants.purchased_at < date_trunc('day', leased.purchased_at AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
                + interval '24 hours'
    ) END AS daily_count, due_at IS NOT NULL AS is_due, risk,
    held_at, source, is_renewal, (
        SELECT grace_expires_at FROM announced_purchases AS told WHERE told.transaction_id = leased.transaction_id LIMIT 1
    ) AS grace_expires_at, may_be_lost(held_at) AS is_decided_again
FROM leased
LEFT JOIN held_submissions USING (submission_key)
ORDER BY due_at, CASE WHEN due_at IS NULL THEN held_at END, transaction_id, player_id;
