-- The claims that grants and holds are under. $1 transactions
SELECT coalesce(original_transaction_id, transaction_id) AS original_transaction_id FROM grants WHERE transaction_id = ANY ($1::text[])
UNION
SELECT original_transaction_id FROM holds WHERE transaction_id = ANY ($1::text[]);
