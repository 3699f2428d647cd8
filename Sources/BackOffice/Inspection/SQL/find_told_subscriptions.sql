-- Finds subscriptions that changed recently, the newest change first. $1 days back; $2 how many
SELECT original_transaction_id, revision
FROM kinds_of_subscriptions(NULL, NULL) AS kind
CROSS JOIN LATERAL (
    SELECT original_transaction_id, revision, updated_at
    FROM subscriptions
    WHERE bundle_id = kind.bundle_id AND state = kind.state AND updated_at >= now() - make_interval(days => $1)
    ORDER BY updated_at DESC
    LIMIT $2
) AS changed
ORDER BY updated_at DESC
LIMIT $2;
