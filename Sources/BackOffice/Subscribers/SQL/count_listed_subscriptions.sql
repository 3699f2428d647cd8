-- $1 an app, $2 a state, or null
SELECT coalesce(sum(counted.count), 0)::int8 AS count
FROM kinds_of_subscriptions($1, $2) AS kind
CROSS JOIN LATERAL (
    SELECT count(*) AS count FROM subscriptions WHERE bundle_id = kind.bundle_id AND state = kind.state
) AS counted;
