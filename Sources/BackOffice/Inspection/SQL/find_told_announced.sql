-- Finds purchases that Apple announced recently and that were held or refused. Also finds purchases whose hold an
-- operator decided recently.
-- $1 days back; $2 how many of a kind, the newest
SELECT transaction_id, times_held
FROM (
    SELECT transaction_id, times_held, state
    FROM announced_purchases
    WHERE (evidence IS NOT NULL OR token IS NOT NULL) AND state <> 'waiting'
        AND stored_at >= now() - make_interval(days => $1)
    ORDER BY stored_at DESC
    LIMIT $2
) AS newest
WHERE times_held > 0 OR state = 'refused'
UNION
SELECT transaction_id, times_held
FROM announced_purchases
WHERE transaction_id = ANY (ARRAY(
    SELECT transaction_id
    FROM (SELECT transaction_id, decided_at FROM hold_decisions ORDER BY id DESC LIMIT $2) AS newest
    WHERE decided_at >= now() - make_interval(days => $1)));
