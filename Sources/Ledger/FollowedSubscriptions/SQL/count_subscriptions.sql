-- Counts the rows of each state, up to a limit, because a metric must not cost a scan. A last row without a state
-- counts the overdue checks.
-- $1 how many of each state at most, 0 to count no states; $2 apps that are followed; $3 seconds after which a due
-- check is overdue; $4 how many overdue checks at most
SELECT told.state, (
    SELECT count(*)
    FROM (
        SELECT
        FROM kinds_of_subscriptions(NULL, told.state) AS kind
        CROSS JOIN LATERAL (
            SELECT FROM subscriptions
            WHERE subscriptions.bundle_id = kind.bundle_id AND subscriptions.state = kind.state
            LIMIT $1
        ) AS one
        LIMIT $1
    ) AS counted
) AS count
FROM unnest(ARRAY['active', 'grace_period', 'billing_retry', 'expired', 'revoked']) AS told (state)
WHERE $1 > 0
UNION ALL
SELECT NULL, coalesce(sum(counted.count), 0)::int8
FROM unnest($2::text[]) AS app (bundle_id)
CROSS JOIN LATERAL (
    SELECT count(*) AS count
    FROM (
        SELECT FROM subscriptions
        WHERE subscriptions.bundle_id = app.bundle_id AND due_at < now() - make_interval(secs => $3)
        LIMIT $4
    ) AS one
) AS counted;
