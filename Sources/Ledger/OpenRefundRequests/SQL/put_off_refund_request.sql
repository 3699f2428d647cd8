-- Sets a later due time after a try that did not end the request, or after a lease without a try.
-- $1 notification; $2 its lease; $3 seconds until the request is due; $4 how many tries to subtract
UPDATE refund_requests
SET due_at = now() + make_interval(secs => $3), tries = greatest(tries - $4, 0), takes = 0
WHERE notification_id = $1 AND due_at = $2;
