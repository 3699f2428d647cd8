-- Makes unclaimed purchases due again, except for purchases that killed their workers. An earlier statement has locked them:
-- a statement that waits for locks chooses rows as they were when it began, and misses one that became unclaimed since.
-- $1 transactions, locked
UPDATE announced_purchases
SET state = 'waiting', reason = NULL, due_at = now(), awaits_submission = false, leased_until = NULL, takes = 0,
    is_alone = false, deaths_alone = 0
WHERE transaction_id = ANY ($1::text[]) AND state IN ('unclaimed', 'ignored') AND reason IS DISTINCT FROM 'crashed';
