-- Finds a grant for an operator. $1 transaction
SELECT player_id, bundle_id, product_id, quantity, revoked_at, operator_revoked_at
FROM grants
WHERE transaction_id = $1;
