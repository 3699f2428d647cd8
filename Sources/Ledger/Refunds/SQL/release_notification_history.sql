-- Ends a lease. $1 bundle; $2 environment; $3 the lease; $4 seconds until the next round
UPDATE notification_history
SET leased_until = '-infinity', starts = 0, suspect = NULL, culprit = NULL, culprit_deaths = 0,
    due_at = now() + make_interval(secs => $4)
WHERE bundle_id = $1 AND environment = $2 AND leased_until = $3;
