-- What Apple said of each. $1 transactions; $2 periods; their claims are locked
SELECT * FROM refunds WHERE transaction_id = ANY ($1::text[])
UNION
SELECT * FROM refunds WHERE period_id = ANY ($2::text[]);
