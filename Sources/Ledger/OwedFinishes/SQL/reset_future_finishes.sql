-- What is due later than anything can be was put there while the clock was ahead: it is due now. $1 seconds; $2 how many
UPDATE finishes SET due_at = now()
WHERE transaction_id = ANY (ARRAY(
    SELECT transaction_id FROM finishes WHERE due_at > now() + make_interval(secs => $1)
    ORDER BY due_at DESC LIMIT $2 FOR UPDATE SKIP LOCKED));
