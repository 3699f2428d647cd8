-- Finds the claims of granted or held transactions, including the claims of their periods.
-- $1 transactions
SELECT coalesce(original_transaction_id, transaction_id) AS original_transaction_id FROM grants WHERE transaction_id = ANY ($1::text[])
UNION
SELECT period_id FROM grants WHERE transaction_id = ANY ($1::text[]) AND period_id IS NOT NULL
UNION
SELECT original_transaction_id FROM holds WHERE transaction_id = ANY ($1::text[])
UNION
SELECT period_id FROM holds WHERE transaction_id = ANY ($1::text[]) AND period_id IS NOT NULL;
