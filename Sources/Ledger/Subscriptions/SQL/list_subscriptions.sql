-- The newest change first. $1 how many; $2 an app, $3 a state, or null
SELECT original_transaction_id, player_id, listed.bundle_id, product_id, subscription_group_id, listed.state, expires_at,
    grace_expires_at, will_renew, renewal_product_id, environment, revision, checked_at, updated_at, due_at
FROM kinds_of_subscriptions($2, $3) AS kind
CROSS JOIN LATERAL (
    SELECT * FROM subscriptions
    WHERE bundle_id = kind.bundle_id AND state = kind.state
    ORDER BY updated_at DESC, original_transaction_id
    LIMIT $1
) AS listed
ORDER BY updated_at DESC, original_transaction_id
LIMIT $1;
