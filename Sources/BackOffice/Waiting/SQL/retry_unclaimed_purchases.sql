-- Makes unclaimed purchases due again for an operator, the oldest first, including those that killed their
-- workers. Skips rows that another SQL transaction has locked.
-- $1–$4 a transaction, an app, a reason, a product, $5 the latest time at which Apple announced the purchase,
-- or null; $6 how many
UPDATE announced_purchases
SET state = 'waiting', reason = NULL, due_at = now(), awaits_submission = false, leased_until = NULL, takes = 0,
    is_alone = false, deaths_alone = 0
WHERE transaction_id = ANY (ARRAY(
    SELECT transaction_id
    FROM announced_purchases
    WHERE state = 'unclaimed' AND evidence IS NOT NULL AND ($1::text IS NULL OR transaction_id = $1)
        AND ($2::text IS NULL OR bundle_id = $2) AND ($3::text IS NULL OR reason = $3)
        AND ($4::text IS NULL OR product_id = $4) AND stored_at <= coalesce($5::timestamptz, 'infinity')
    ORDER BY stored_at, transaction_id
    LIMIT $6
    FOR UPDATE SKIP LOCKED));
