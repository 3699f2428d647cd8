-- Locks a hold that is still leased.
-- $1 transaction; $2 player; $3 submission; $4 the lease, or null for an operator, who needs no lease
SELECT 1
FROM holds
WHERE transaction_id = $1 AND player_id = $2 AND submission_key = $3 AND ($4::timestamptz IS NULL OR leased_until = $4)
FOR UPDATE;
