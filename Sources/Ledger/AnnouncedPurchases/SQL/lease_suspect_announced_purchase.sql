-- Leases one purchase with three leases without a result (takes), for delivery in isolation. If $2 workers died while
-- they delivered it in isolation, marks it as unclaimed instead, and returns no evidence.
-- A lease that ends more than ten minutes from now counts as over: a clock that was ahead must have written it.
-- $1 seconds of the lease, and as many more for each earlier lease without a result; $2 deaths; $3 the newest
-- catalog; $4 seconds for which a purchase waits for its submission
WITH suspect AS (
    SELECT transaction_id, deaths_alone + is_alone::integer AS deaths
    FROM announced_purchases
    WHERE takes >= 3 AND (leased_until IS NULL OR leased_until NOT BETWEEN now() AND now() + interval '10 minutes')
        AND (
            state = 'waiting' AND due_at <= now() - make_interval(secs => CASE WHEN awaits_submission THEN $4 ELSE 0 END)
            OR state IN ('unclaimed', 'ignored') AND evidence IS NOT NULL AND catalog_version < $3)
    ORDER BY due_at
    LIMIT 1
    FOR UPDATE SKIP LOCKED
), changed AS (
    UPDATE announced_purchases AS told
    SET takes = CASE WHEN deaths < $2 THEN takes + 1 ELSE 0 END,
        is_alone = deaths < $2,
        deaths_alone = CASE WHEN deaths < $2 THEN deaths ELSE 0 END,
        leased_until = CASE WHEN deaths < $2 THEN now() + make_interval(secs => $1 * (1 + least(takes, 5))) END,
        state = CASE WHEN deaths < $2 THEN state ELSE 'unclaimed' END,
        reason = CASE WHEN deaths < $2 THEN reason ELSE 'crashed' END,
        due_at = CASE WHEN deaths < $2 THEN due_at END,
        awaits_submission = deaths < $2 AND awaits_submission,
        catalog_version = CASE WHEN deaths < $2 THEN catalog_version ELSE greatest(catalog_version, $3) END,
        decided_at = CASE WHEN deaths < $2 THEN decided_at ELSE now() END
    FROM suspect
    WHERE told.transaction_id = suspect.transaction_id
    RETURNING told.*, deaths
)
SELECT transaction_id, source, submission_id, is_renewal, grace_expires_at, signed_at,
    CASE WHEN is_alone THEN evidence END AS evidence, times_held, leased_until, previous_original_transaction_id, is_alone,
    bundle_id, deaths,
    (
        SELECT granted_transaction_id = transaction_id FROM claims
        WHERE claims.original_transaction_id = changed.original_transaction_id LIMIT 1
    ) AS is_published
FROM changed;
