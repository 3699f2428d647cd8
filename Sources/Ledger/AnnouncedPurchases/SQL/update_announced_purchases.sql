-- Writes the outcomes of purchases. The caller has locked their rows.
-- $1 transactions, sorted; $2 their states; $3 reasons, or null; $4 players, or null; $5 the version of the deciding
-- catalog
UPDATE announced_purchases AS told
SET state = decided.state, reason = decided.reason, player_id = decided.player_id,
    catalog_version = greatest(told.catalog_version, $5), due_at = NULL, awaits_submission = false,
    leased_until = NULL, decided_at = now(), takes = 0, is_alone = false, deaths_alone = 0,
    times_held = told.times_held + CASE WHEN decided.state = 'held' THEN 1 ELSE 0 END,
    evidence = CASE WHEN decided.is_open THEN told.evidence END, token = CASE WHEN decided.is_open THEN told.token END
FROM (
    -- A held purchase, and a claimed purchase without a grant, keep their evidence, because a hold may end without a
    -- grant. A purchase of an erased player keeps nothing.
    SELECT *,
        (
            state IN ('held', 'refused', 'unclaimed', 'ignored') OR state = 'claimed' AND NOT EXISTS (
                SELECT FROM grants WHERE grants.transaction_id = given.transaction_id)
        ) AND reason IS DISTINCT FROM 'player_erased' AS is_open
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS given (transaction_id, state, reason, player_id)
) AS decided
WHERE told.transaction_id = decided.transaction_id AND told.transaction_id = ANY ($1::text[]);
