-- Counts up to $1 rows of each state, 0: none: a metric need not cost a scan. Overdue is what Apple should have been asked
-- about so many seconds ago ($3), of the apps that are followed ($2), up to $4; a row of its own, without a state.
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
