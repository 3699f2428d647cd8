-- Locks all rows that an SQL transaction deletes or writes, in the same order in all SQL transactions. Without this
-- statement two SQL transactions could lock rows in opposite orders, because the DELETE and the INSERT are two
-- statements. $1 transactions
SELECT transaction_id
FROM undelivered
WHERE transaction_id = ANY ($1::text[])
ORDER BY transaction_id
FOR UPDATE;
