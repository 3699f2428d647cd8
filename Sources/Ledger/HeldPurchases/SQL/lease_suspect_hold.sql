-- Leases one hold with three leases without a result (takes), for a try in isolation. If $2 workers died while they
-- tried it in isolation, leaves it to an operator instead, and returns neither its submission nor its evidence.
-- A lease that ends more than ten minutes from now counts as over: a clock that was ahead must have written it.
-- $1 seconds of the lease, and as many more for each earlier lease without a result; $2 deaths; $3 the newest
-- catalog
WITH suspect AS (
    SELECT transaction_id, player_id, deaths_alone + is_alone::integer AS deaths
    FROM holds
    WHERE takes >= 3 AND (due_at <= now() OR due_at IS NULL AND catalog_version < $3)
        AND (leased_until IS NULL OR leased_until NOT BETWEEN now() AND now() + interval '10 minutes')
    ORDER BY due_at
    LIMIT 1
    FOR UPDATE SKIP LOCKED
), leased AS (
    UPDATE holds
    SET takes = CASE WHEN deaths < $2 THEN takes + 1 ELSE 0 END,
        is_alone = deaths < $2,
        deaths_alone = deaths,
        leased_until = CASE WHEN deaths < $2 THEN now() + make_interval(secs => $1 * (1 + least(takes, 5))) END,
        due_at = CASE WHEN deaths < $2 THEN due_at END,
        released_at = CASE WHEN deaths < $2 THEN released_at END,
        note = CASE WHEN deaths < $2 THEN note
            ELSE format('%s workers died while they tried this hold in isolation', deaths) END
    FROM suspect
    WHERE holds.transaction_id = suspect.transaction_id AND holds.player_id = suspect.player_id
    RETURNING holds.*
)
SELECT transaction_id, original_transaction_id, player_id, product_id, reason, waived, released_at IS NOT NULL AS is_released,
    CASE WHEN is_alone THEN held_submissions.submission END AS submission, leased.submission_key, source_topic,
    source_partition, source_offset, source_timestamp, traceparent, CASE WHEN is_alone THEN evidence END AS evidence, tries,
    leased_until,
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
    ) AS grace_expires_at, may_be_lost(held_at) AS is_decided_again, is_alone, leased.bundle_id, deaths_alone
FROM leased
LEFT JOIN held_submissions USING (submission_key);
