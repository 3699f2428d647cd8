-- Inserts or locks the claim of each original transaction, in order. An existing one for the same player, or for nobody,
-- learns what was granted under it.
INSERT INTO claims (original_transaction_id, player_id, bundle_id, granted_transaction_id)
SELECT original_transaction_id, player_id, bundle_id, transaction_id
FROM (
    SELECT DISTINCT ON (original_transaction_id) original_transaction_id, player_id, bundle_id, transaction_id
    FROM imported
    ORDER BY original_transaction_id, line
) AS given
ORDER BY original_transaction_id
ON CONFLICT (original_transaction_id) DO UPDATE
SET player_id = excluded.player_id, granted_transaction_id = excluded.granted_transaction_id, claimed_at = now()
WHERE claims.player_id IS NULL
    OR (claims.player_id = excluded.player_id AND claims.granted_transaction_id IS NULL);
