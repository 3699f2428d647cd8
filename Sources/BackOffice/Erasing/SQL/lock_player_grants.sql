-- $1 transactions, sorted, whose claims are locked; $2 player
SELECT transaction_id, submission_id, event
FROM grants
WHERE transaction_id = ANY ($1::text[]) AND player_id = $2
ORDER BY transaction_id
FOR UPDATE;
