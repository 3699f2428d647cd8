-- Lists subscriptions, the newest change first.
-- $1 how many; $2 how many newer subscriptions are left out; $3 an app, $4 a state, or null
SELECT original_transaction_id, player_id, bundle_id, product_id, subscription_group_id, state, expires_at,
    grace_expires_at, will_renew, renewal_product_id, environment, revision, checked_at, updated_at, due_at
FROM (
    -- PostgreSQL reads only the index for the rows that are left out.
    SELECT one.*
    FROM kinds_of_subscriptions($3, $4) AS kind
    CROSS JOIN LATERAL (
        SELECT original_transaction_id, updated_at FROM subscriptions
        WHERE bundle_id = kind.bundle_id AND state = kind.state
        ORDER BY updated_at DESC, original_transaction_id
        LIMIT $1::int8 + $2::int8
    ) AS one
    ORDER BY updated_at DESC, original_transaction_id
    LIMIT $1::int8 OFFSET $2::int8
) AS place
JOIN subscriptions USING (original_transaction_id, updated_at)
ORDER BY updated_at DESC, original_transaction_id;
