-- Inserts or locks the claim of each original transaction and period, in order. An existing claim gets the granted
-- transaction if the claim has no player, if the same player has it without a grant, or if its period has no grant.
INSERT INTO claims (original_transaction_id, player_id, bundle_id, granted_transaction_id)
SELECT claim_id, player_id, bundle_id, transaction_id
FROM (
    SELECT DISTINCT ON (claim_id) claim_id, player_id, bundle_id, transaction_id
    FROM (
        SELECT original_transaction_id AS claim_id, player_id, bundle_id, transaction_id, line FROM imported
        UNION ALL
        SELECT period_id, player_id, bundle_id, transaction_id, line FROM imported WHERE period_id IS NOT NULL
    ) AS claimed
    ORDER BY claim_id, line
) AS given
ORDER BY claim_id
ON CONFLICT (original_transaction_id) DO UPDATE
SET player_id = excluded.player_id, granted_transaction_id = excluded.granted_transaction_id, claimed_at = now()
WHERE claims.player_id IS NULL
    OR (claims.player_id = excluded.player_id AND claims.granted_transaction_id IS NULL)
    OR (claims.original_transaction_id LIKE 'period %'
        AND NOT EXISTS (SELECT FROM grants WHERE grants.transaction_id = claims.granted_transaction_id));
