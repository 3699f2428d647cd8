-- Makes unclaimed purchases due again, except purchases that killed their workers. An earlier statement has locked
-- them. If this statement itself waited for the locks, it would miss a purchase that became unclaimed meanwhile,
-- because a statement selects rows as they were when it started.
-- $1 transactions, locked
UPDATE announced_purchases
SET state = 'waiting', reason = NULL, due_at = now(), awaits_submission = false, leased_until = NULL, takes = 0,
    is_alone = false, deaths_alone = 0
WHERE transaction_id = ANY ($1::text[]) AND state IN ('unclaimed', 'ignored') AND reason IS DISTINCT FROM 'crashed';
