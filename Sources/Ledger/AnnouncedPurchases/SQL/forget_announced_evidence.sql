-- Deletes the evidence and tokens of old purchases that no longer wait, but keeps ids and dates.
-- $1 days; $2 how many at most
UPDATE announced_purchases
SET evidence = NULL, token = NULL, leased_until = NULL, takes = 0, is_alone = false, deaths_alone = 0
WHERE state <> 'waiting' AND transaction_id = ANY (ARRAY(
    SELECT transaction_id
    FROM announced_purchases
    WHERE (evidence IS NOT NULL OR token IS NOT NULL) AND state <> 'waiting'
        AND stored_at < now() - make_interval(days => $1)
    ORDER BY stored_at
    LIMIT $2
    FOR UPDATE SKIP LOCKED));
