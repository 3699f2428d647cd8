-- Its claim is locked. $1 original; $2 the new owner; $3 the one before; $4 operator; $5 note
WITH owned AS (
    UPDATE subscriptions SET player_id = $2 WHERE original_transaction_id = $1 RETURNING bundle_id
), claimed AS (
    UPDATE claims SET player_id = $2 WHERE original_transaction_id = $1 AND EXISTS (SELECT FROM owned)
)
INSERT INTO subscription_transfers (
    original_transaction_id, bundle_id, from_player_id, to_player_id, operator, note)
SELECT $1, bundle_id, $3, $2, $4, $5 FROM owned
RETURNING id;
