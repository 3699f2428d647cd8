-- $1 an original transaction or a player; $2 original transactions from other sections; $3 how many; $4 how many newer
-- subscriptions are left out
SELECT coalesce(json_agg(found), '[]')::text AS rows
FROM (
    SELECT original_transaction_id, player_id, bundle_id, product_id, subscription_group_id, state, expires_at,
        grace_expires_at, will_renew, renewal_product_id, environment, revision, checked_at, updated_at, due_at, tries
    FROM subscriptions
    WHERE original_transaction_id IN (
        SELECT original_transaction_id FROM subscriptions WHERE original_transaction_id = $1
        UNION
        SELECT original_transaction_id FROM subscriptions WHERE original_transaction_id = ANY ($2::text[])
        UNION
        SELECT original_transaction_id FROM subscriptions WHERE player_id = $1
    )
    ORDER BY updated_at DESC, original_transaction_id
    LIMIT $3::int8 OFFSET $4::int8
) AS found;
