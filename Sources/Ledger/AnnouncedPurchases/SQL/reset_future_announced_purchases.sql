-- Makes purchases due now whose due time is later than any writer sets: a clock that was ahead must have written it.
-- $1 seconds ahead; $2 how many at most
UPDATE announced_purchases SET due_at = now()
WHERE transaction_id = ANY (ARRAY(
    SELECT transaction_id FROM announced_purchases
    WHERE state = 'waiting' AND NOT awaits_submission AND due_at > now() + make_interval(secs => $1)
    UNION ALL
    SELECT transaction_id FROM announced_purchases
    WHERE state = 'waiting' AND awaits_submission AND due_at > now() + make_interval(secs => $1)
    LIMIT $2)) AND state = 'waiting';
