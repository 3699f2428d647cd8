-- $1 an app whose credentials work again; $2 seconds over which its tries are spread
UPDATE parked
SET due_at = now() + make_interval(secs => $2 * random())
WHERE bundle_id = $1 AND reason IN ('blocked_shared_secret', 'blocked_request')
    AND due_at > now() + make_interval(secs => $2);
