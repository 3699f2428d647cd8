-- Stores the notification on which a worker works with nothing else in flight, and extends the lease. A worker runs
-- this statement before it works on the notification, before the notification only waits, and before the try continues.
-- $1 bundle; $2 environment; $3 the lease; $4 the SHA-256 of the notification's UUID, null while it waits; $5 seconds
-- of the lease
UPDATE notification_history
SET suspect = $4, leased_until = now() + make_interval(secs => $5)
WHERE bundle_id = $1 AND environment = $2 AND leased_until = $3
RETURNING leased_until;
