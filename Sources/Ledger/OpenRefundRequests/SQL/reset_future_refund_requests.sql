-- Makes rows due now whose due time is later than any writer sets: a clock that was ahead must have written it.
-- $1 seconds from now; $2 how many at most
UPDATE refund_requests SET due_at = now()
WHERE notification_id = ANY (ARRAY(
    SELECT notification_id FROM refund_requests WHERE due_at > now() + make_interval(secs => $1)
    ORDER BY due_at DESC LIMIT $2 FOR UPDATE SKIP LOCKED));
