-- Makes holds due that are disputed because of their token, after the token turned out to be a constant of the app's
-- client.
-- SKIP LOCKED: the caller has locked tokens, and must not wait for a hold that another worker is deciding.
-- $1 apps; $2 players who sent the token
WITH disputed AS (
    SELECT holds.transaction_id, holds.player_id
    FROM unnest($1::text[], $2::text[]) AS sender (bundle_id, player_id)
    JOIN holds USING (bundle_id, player_id)
    WHERE holds.reason = 'ownership_disputed' AND holds.due_at IS NULL AND holds.deaths_alone < 3
    FOR UPDATE OF holds SKIP LOCKED
)
UPDATE holds SET due_at = now()
FROM disputed
WHERE holds.transaction_id = ANY (ARRAY(SELECT transaction_id FROM disputed))
    AND holds.transaction_id = disputed.transaction_id AND holds.player_id = disputed.player_id;
