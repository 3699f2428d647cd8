-- What nobody claimed is to be looked at again, but for what killed its workers. $1 transactions, locked by an earlier statement: the one that waits for the
-- locks sees what was waiting when it began, and not what was decided of it meanwhile.
UPDATE announced_purchases
SET state = 'waiting', reason = NULL, due_at = now(), awaits_submission = false, leased_until = NULL, takes = 0,
    is_alone = false, deaths_alone = 0
WHERE transaction_id = ANY ($1::text[]) AND state IN ('unclaimed', 'ignored') AND reason IS DISTINCT FROM 'crashed';
