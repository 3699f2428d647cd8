-- Stores the notification that a worker has in isolation, and extends the lease. A worker runs this statement before it
-- begins to work on the notification, and again before and after each wait.
-- $1 bundle; $2 environment; $3 the lease; $4 the SHA-256 of the notification's UUID, null while it waits; $5 seconds
-- of the lease
UPDATE notification_history
SET suspect = $4, leased_until = now() + make_interval(secs => $5)
WHERE bundle_id = $1 AND environment = $2 AND leased_until = $3
RETURNING leased_until;
