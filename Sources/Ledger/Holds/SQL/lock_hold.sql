-- $1 transaction; $2 submission; $3 the lease, or null for an operator, who needs none
SELECT 1
FROM holds
WHERE transaction_id = $1 AND submission_key = $2 AND ($3::timestamptz IS NULL OR leased_until = $3)
FOR UPDATE;
