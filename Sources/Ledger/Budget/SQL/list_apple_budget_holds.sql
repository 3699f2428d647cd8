SELECT bundle_id, endpoint, environment, extract(epoch FROM held_until - clock_timestamp())::float8 AS seconds
FROM apple_budgets
-- A pause that ends later was written while the clock was ahead. $1 seconds
WHERE held_until BETWEEN clock_timestamp() AND clock_timestamp() + make_interval(secs => $1);
