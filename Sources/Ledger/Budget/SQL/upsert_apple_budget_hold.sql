-- Pauses all replicas' requests of an app, endpoint and environment, unless a longer pause exists.
-- $1 bundle_id; $2 endpoint; $3 environment; $4 seconds; $5 how many seconds ahead a pause can end
INSERT INTO apple_budgets AS budget (bundle_id, endpoint, environment, held_until)
VALUES ($1, $2, $3, clock_timestamp() + make_interval(secs => $4))
ON CONFLICT (bundle_id, endpoint, environment) DO UPDATE SET held_until = excluded.held_until
-- A pause that ends beyond $5 was written while the clock was ahead.
WHERE budget.held_until NOT BETWEEN excluded.held_until AND clock_timestamp() + make_interval(secs => $5);
