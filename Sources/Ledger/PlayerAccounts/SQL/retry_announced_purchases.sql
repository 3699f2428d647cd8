-- Makes unclaimed purchases due again, except purchases that killed their workers. An earlier statement has locked
-- them. A statement that waits for locks selects rows as they were when it started, so it would miss a purchase that
-- became unclaimed meanwhile.
-- $1 transactions, locked
UPDATE announced_purchases
SET state = 'waiting', reason = NULL, due_at = now(), awaits_submission = false, leased_until = NULL, takes = 0,
    is_alone = false, deaths_alone = 0
WHERE transaction_id = ANY ($1::text[]) AND state IN ('unclaimed', 'ignored') AND reason IS DISTINCT FROM 'crashed';
