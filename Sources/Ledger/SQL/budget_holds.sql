SELECT bundle_id, endpoint, environment, extract(epoch FROM held_until - clock_timestamp())::float8
FROM apple_budgets
WHERE held_until > clock_timestamp()
