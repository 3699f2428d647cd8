-- Leases a slice of the budget after the earlier leases. Returns no row if the earlier leases already reach $5 ahead. A
-- lease that reaches beyond $6 counts as over, because it was written before the clock was set back.
-- $1 bundle_id; $2 endpoint; $3 environment; $4 how long the lease lasts; $5 how far ahead leases may reach; $6 how far
-- ahead a lease can end; all times in seconds
INSERT INTO apple_budgets AS budget (bundle_id, endpoint, environment, leased_until)
VALUES ($1, $2, $3, clock_timestamp() + make_interval(secs => $4))
ON CONFLICT (bundle_id, endpoint, environment) DO UPDATE
SET leased_until = make_interval(secs => $4) + CASE
    WHEN budget.leased_until BETWEEN clock_timestamp() AND clock_timestamp() + make_interval(secs => $5)
    THEN budget.leased_until ELSE clock_timestamp() END
WHERE budget.leased_until NOT BETWEEN clock_timestamp() + make_interval(secs => $5)
    AND clock_timestamp() + make_interval(secs => $6)
RETURNING extract(epoch FROM leased_until - clock_timestamp())::float8 AS ends_in;
