-- Locks all rows that an SQL transaction deletes or writes, in one order for all transactions. The DELETE and the INSERT
-- are two statements, and two transactions may have the same two rows in them the other way round. $1 transactions
SELECT transaction_id
FROM undelivered
WHERE transaction_id = ANY ($1::text[])
ORDER BY transaction_id
FOR UPDATE;
