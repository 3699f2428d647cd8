-- Replaces the player in grants and in their claims.
-- $1 player; $2 pseudonym; $3 transactions, sorted and locked; $4 their events, null for an imported grant; $5 claims,
-- locked
WITH claimed AS (
    UPDATE claims SET player_id = $2 WHERE original_transaction_id = ANY ($5::text[]) AND player_id = $1
), unheard AS (
    -- An announced purchase ends as refused, unless another player owns its original by now.
    UPDATE announced_purchases
    SET state = 'refused', reason = 'player_erased', player_id = $2, due_at = NULL, leased_until = NULL,
        awaits_submission = false, evidence = NULL, token = NULL, decided_at = now(), takes = 0,
        is_alone = false, deaths_alone = 0
    WHERE original_transaction_id = ANY ($5::text[]) AND state IN ('waiting', 'unclaimed', 'ignored')
        AND NOT EXISTS (
            SELECT FROM claims
            WHERE claims.original_transaction_id = announced_purchases.original_transaction_id
                AND claims.player_id NOT IN ($1, $2))
)
UPDATE grants
SET player_id = $2, submission_id = $2, app_transaction_id = NULL, event = changed.event,
    submission_key = CASE WHEN changed.event IS NULL THEN NULL ELSE gen_random_uuid() END
FROM unnest($3::text[], $4::bytea[]) AS changed (transaction_id, event)
WHERE grants.transaction_id = changed.transaction_id;
