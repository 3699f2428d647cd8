-- All rows that a transaction deletes or writes, in the order that every other one keeps: what is deleted and what is inserted are two
-- statements, and two transactions may have the same rows in both the other way round. $1 transactions
SELECT transaction_id
FROM undelivered
WHERE transaction_id = ANY ($1::text[])
ORDER BY transaction_id
FOR UPDATE;
