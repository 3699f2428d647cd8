-- What is due later than anything can be was put there while the clock was ahead: it is due now. $1 seconds; $2 how many
UPDATE announced_purchases SET due_at = now()
WHERE transaction_id = ANY (ARRAY(
    SELECT transaction_id FROM announced_purchases
    WHERE state = 'waiting' AND NOT awaits_submission AND due_at > now() + make_interval(secs => $1)
    UNION ALL
    SELECT transaction_id FROM announced_purchases
    WHERE state = 'waiting' AND awaits_submission AND due_at > now() + make_interval(secs => $1)
    LIMIT $2)) AND state = 'waiting';
