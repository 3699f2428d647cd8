-- Makes rows due now whose due time is later than any writer sets: a clock that was ahead must have written it.
-- $1 seconds from now; $2 how many at most
UPDATE finishes SET due_at = now()
WHERE transaction_id = ANY (ARRAY(
    SELECT transaction_id FROM finishes WHERE due_at > now() + make_interval(secs => $1)
    ORDER BY due_at DESC LIMIT $2 FOR UPDATE SKIP LOCKED));
