-- Inserts or locks the claim of each original transaction and period, in order. If several lines have the same claim,
-- the claim gets the first line that is not revoked, or else the first line. An existing claim gets the line's player
-- and transaction if one of these is true:
-- - The claim has no player, or its player became the owner only by a hold.
-- - The line's player has the claim, and the claim has no grant or a wholly revoked grant. A claim whose grant the
--   database lost stays unchanged.
-- - The claim is of a period that has no grant.
INSERT INTO claims (original_transaction_id, player_id, bundle_id, granted_transaction_id)
SELECT claim_id, player_id, bundle_id, transaction_id
FROM (
    SELECT DISTINCT ON (claim_id) claim_id, player_id, bundle_id, transaction_id
    FROM (
        SELECT original_transaction_id AS claim_id, player_id, bundle_id, transaction_id, revoked_at, line
        FROM imported
        UNION ALL
        SELECT period_id, player_id, bundle_id, transaction_id, revoked_at, line
        FROM imported
        WHERE period_id IS NOT NULL
    ) AS claimed
    ORDER BY claim_id, revoked_at IS NOT NULL, line
) AS given
ORDER BY claim_id
ON CONFLICT (original_transaction_id) DO UPDATE
SET player_id = excluded.player_id, granted_transaction_id = excluded.granted_transaction_id, claimed_at = now()
WHERE claims.player_id IS NULL
    OR (claims.original_transaction_id LIKE 'period %'
        AND NOT EXISTS (SELECT FROM grants WHERE grants.transaction_id = claims.granted_transaction_id))
    OR (claims.original_transaction_id NOT LIKE 'period %' AND claims.player_id = excluded.player_id
        AND (claims.granted_transaction_id IS NULL
            OR EXISTS (
                SELECT FROM grants
                WHERE grants.transaction_id = claims.granted_transaction_id AND grants.revoked_at IS NOT NULL
                    AND coalesce(grants.revoked_units, grants.quantity) >= grants.quantity)))
    OR (claims.original_transaction_id NOT LIKE 'period %' AND claims.granted_transaction_id IS NULL
        AND NOT EXISTS (
            SELECT FROM grants
            WHERE grants.transaction_id = claims.original_transaction_id AND grants.player_id = claims.player_id)
        AND NOT EXISTS (
            SELECT FROM grants
            WHERE grants.original_transaction_id = claims.original_transaction_id
                AND grants.original_transaction_id <> grants.transaction_id AND grants.player_id = claims.player_id)
        AND NOT EXISTS (
            SELECT FROM subscription_transfers
            WHERE subscription_transfers.original_transaction_id = claims.original_transaction_id
                AND subscription_transfers.to_player_id = claims.player_id));
