-- What is due later than anything can be was put there while the clock was ahead: it is due now. $1 seconds; $2 how many
UPDATE refund_requests SET due_at = now()
WHERE notification_id = ANY (ARRAY(
    SELECT notification_id FROM refund_requests WHERE due_at > now() + make_interval(secs => $1)
    ORDER BY due_at DESC LIMIT $2 FOR UPDATE SKIP LOCKED));
