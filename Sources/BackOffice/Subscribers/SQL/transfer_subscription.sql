-- Gives a subscription, whose claim is locked, to another player. The claims of its granted periods get the new owner
-- too, because another original that reports such a period gets the owner of the period's claim.
-- $1 original; $2 the new owner; $3 the owner before; $4 operator; $5 note
WITH owned AS (
    UPDATE subscriptions SET player_id = $2 WHERE original_transaction_id = $1 RETURNING bundle_id
), locked AS (
    SELECT original_transaction_id
    FROM claims
    WHERE original_transaction_id IN (
        SELECT $1
        UNION ALL
        SELECT period_id FROM grants WHERE transaction_id = $1 OR original_transaction_id = $1
    )
    ORDER BY original_transaction_id
    FOR UPDATE
), claimed AS (
    UPDATE claims SET player_id = $2
    FROM locked
    WHERE claims.original_transaction_id = locked.original_transaction_id AND EXISTS (SELECT FROM owned)
)
INSERT INTO subscription_transfers (
    original_transaction_id, bundle_id, from_player_id, to_player_id, operator, note)
SELECT $1, bundle_id, $3, $2, $4, $5 FROM owned
RETURNING id;
