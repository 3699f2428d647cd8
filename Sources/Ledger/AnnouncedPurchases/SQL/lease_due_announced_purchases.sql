-- Leases due purchases, oldest first, then purchases that an older catalog left unclaimed. Leaves a purchase with three
-- leases without a result (takes) to the statement file lease_suspect_announced_purchase.sql.
-- A lease that ends more than ten minutes from now counts as over: a clock that was ahead must have written it.
-- is_published: the claim names the purchase, because a worker published a grant that the database lost.
-- $1 how many; $2 seconds of a lease, and as many more for each earlier lease without a result; $3 the newest
-- catalog; $4 seconds for which a purchase waits for its submission
WITH due AS (
    SELECT transaction_id
    FROM announced_purchases
    WHERE state = 'waiting' AND NOT awaits_submission AND due_at <= now() AND takes < 3
        AND (leased_until IS NULL OR leased_until NOT BETWEEN now() AND now() + interval '10 minutes')
    ORDER BY due_at
    LIMIT $1
    FOR UPDATE SKIP LOCKED
), patient AS (
    SELECT transaction_id
    FROM announced_purchases
    WHERE state = 'waiting' AND awaits_submission AND due_at <= now() - make_interval(secs => $4) AND takes < 3
        AND (leased_until IS NULL OR leased_until NOT BETWEEN now() AND now() + interval '10 minutes')
    ORDER BY due_at
    LIMIT $1 - (SELECT count(*) FROM due)
    FOR UPDATE SKIP LOCKED
), outdated AS (
    SELECT transaction_id
    FROM announced_purchases
    WHERE state IN ('unclaimed', 'ignored') AND evidence IS NOT NULL AND catalog_version < $3 AND takes < 3
        AND reason IS DISTINCT FROM 'crashed'
        AND (leased_until IS NULL OR leased_until NOT BETWEEN now() AND now() + interval '10 minutes')
    ORDER BY catalog_version
    LIMIT $1 - (SELECT count(*) FROM due) - (SELECT count(*) FROM patient)
    FOR UPDATE SKIP LOCKED
), leased AS (
    UPDATE announced_purchases
    SET leased_until = now() + make_interval(secs => $2 * (1 + least(takes, 5))), takes = takes + 1
    WHERE transaction_id = ANY (ARRAY(
        SELECT transaction_id FROM due
        UNION ALL SELECT transaction_id FROM patient
        UNION ALL SELECT transaction_id FROM outdated))
    RETURNING *
)
SELECT transaction_id, source, submission_id, is_renewal, grace_expires_at, signed_at, evidence, times_held,
    leased_until, previous_original_transaction_id,
    (
        SELECT granted_transaction_id = transaction_id FROM claims
        WHERE claims.original_transaction_id = leased.original_transaction_id LIMIT 1
    ) AS is_published
FROM leased;
