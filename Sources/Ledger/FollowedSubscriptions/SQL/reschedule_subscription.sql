-- Ends a lease and sets when the next check is due.
-- $1 original; $2 the lease; $3 seconds until the check is due, null: never; $4 whether Apple got a request
UPDATE subscriptions
SET due_at = now() + make_interval(secs => $3), leased_until = NULL, takes = 0,
    tries = tries + CASE WHEN $4 THEN 1 ELSE 0 END,
    checked_at = CASE WHEN $4 THEN now() ELSE checked_at END
WHERE original_transaction_id = $1 AND leased_until = $2;
