-- Finds the facts about subscriptions without a grant, whose claims are locked.
-- $1 originals, sorted
SELECT original_transaction_id, '' AS player_id, bundle_id, product_id, subscription_group_id, state, expires_at,
    grace_expires_at, will_renew, renewal_product_id, environment, 1 AS revision, period_began_at, state_told_at,
    will_renew_told_at, renewal_product_told_at, NULL::timestamptz AS due_at, 0 AS tries,
    NULL::timestamptz AS history_since, NULL::timestamptz AS periods_since
FROM unowned_subscriptions
WHERE original_transaction_id = ANY ($1::text[]);
