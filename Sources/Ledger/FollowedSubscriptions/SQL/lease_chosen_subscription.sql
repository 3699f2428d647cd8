-- Leases a subscription, even if it is not due or another worker has it.
-- $1 original; $2 seconds
UPDATE subscriptions
SET leased_until = now() + make_interval(secs => $2), takes = takes + 1
WHERE original_transaction_id = $1
RETURNING original_transaction_id, player_id, bundle_id, product_id, subscription_group_id, state, expires_at,
    grace_expires_at, will_renew, renewal_product_id, environment, revision, period_began_at, state_told_at,
    will_renew_told_at, renewal_product_told_at, due_at, tries, history_since, periods_since, leased_until, (
        SELECT receipt FROM subscription_receipts
        WHERE subscription_receipts.original_transaction_id = subscriptions.original_transaction_id
    ) AS receipt;
