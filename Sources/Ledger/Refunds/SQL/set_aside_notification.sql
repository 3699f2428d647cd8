-- Stores a notification that killed the process, so that no worker processes it again. Keeps the last 100 of them.
-- $1 bundle; $2 environment; $3 the lease; $4 the SHA-256 of the notification's UUID
UPDATE notification_history
SET suspect = NULL, culprit = NULL, culprit_deaths = 0,
    set_aside = (set_aside || $4::bytea)[greatest(1, cardinality(set_aside) - 98):]
WHERE bundle_id = $1 AND environment = $2 AND leased_until = $3;
