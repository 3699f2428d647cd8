-- Makes an announced purchase wait as if nobody had submitted it, after its last hold ended without a grant. If no
-- player may get it, marks it as refused instead.
-- $1 transaction, whose claim is locked; $2 the reason why no player may get the purchase, or null
UPDATE announced_purchases
SET state = CASE WHEN $2::text IS NULL THEN 'waiting' ELSE 'refused' END, reason = $2,
    player_id = CASE WHEN $2 IS NOT NULL THEN player_id END, due_at = CASE WHEN $2 IS NULL THEN now() END,
    awaits_submission = false, leased_until = NULL, decided_at = CASE WHEN $2 IS NOT NULL THEN now() END,
    takes = 0, is_alone = false, deaths_alone = 0
WHERE transaction_id = $1 AND state IN ('held', 'claimed') AND evidence IS NOT NULL
    AND NOT EXISTS (SELECT FROM grants WHERE grants.transaction_id = $1)
    AND NOT EXISTS (SELECT FROM holds WHERE holds.transaction_id = $1);
