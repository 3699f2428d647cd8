-- $1 bundle_id, $2 endpoint, $3 environment, $4 seconds.
INSERT INTO apple_budgets AS budget (bundle_id, endpoint, environment, held_until)
VALUES ($1, $2, $3, clock_timestamp() + make_interval(secs => $4))
ON CONFLICT (bundle_id, endpoint, environment) DO UPDATE SET held_until = excluded.held_until
-- One that ends later than any can was written while the clock was ahead. $5 seconds
WHERE budget.held_until NOT BETWEEN excluded.held_until AND clock_timestamp() + make_interval(secs => $5);
