-- Finds Apple's reports about refunds. The claims are locked. $1 transactions; $2 periods
SELECT * FROM refunds WHERE transaction_id = ANY ($1::text[])
UNION
SELECT * FROM refunds WHERE period_id = ANY ($2::text[]);
