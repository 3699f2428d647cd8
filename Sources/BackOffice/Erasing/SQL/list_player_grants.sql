-- $1 player; $2 how many
SELECT transaction_id, coalesce(original_transaction_id, transaction_id) AS original_transaction_id, period_id
FROM grants
WHERE player_id = $1
LIMIT $2;
