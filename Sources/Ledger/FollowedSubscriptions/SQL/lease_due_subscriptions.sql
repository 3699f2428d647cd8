-- Leases due subscriptions, app by app, longest due first. If a row's last lease had no result, the next lease lasts
-- twice as long, so that a row that kills its worker comes back later each time. A lease that ends later than the
-- longest lease counts as over: a clock that was ahead must have written it.
-- $1 apps; $2 how many of each; $3 seconds; $4 how many of all
WITH due AS (
    SELECT one.original_transaction_id
    FROM unnest($1::text[], $2::int8[]) AS app (bundle_id, room)
    CROSS JOIN LATERAL (
        SELECT original_transaction_id
        FROM subscriptions
        WHERE subscriptions.bundle_id = app.bundle_id AND due_at <= now()
            AND (
                leased_until IS NULL
                OR leased_until NOT BETWEEN now() AND now()
                    + greatest(interval '10 minutes', make_interval(secs => $3 * 2 ^ least(takes, 8))))
        ORDER BY due_at
        LIMIT app.room
        FOR UPDATE SKIP LOCKED
    ) AS one
    LIMIT $4
), leased AS (
    UPDATE subscriptions
    SET leased_until = now() + make_interval(secs => $3 * 2 ^ least(takes, 8)), takes = takes + 1
    WHERE original_transaction_id = ANY (ARRAY(SELECT original_transaction_id FROM due))
    RETURNING *
)
SELECT original_transaction_id, player_id, bundle_id, product_id, subscription_group_id, state, expires_at,
    grace_expires_at, will_renew, renewal_product_id, environment, revision, period_began_at, state_told_at,
    will_renew_told_at, renewal_product_told_at, due_at, tries, history_since, periods_since, leased_until, (
        SELECT receipt FROM subscription_receipts
        WHERE subscription_receipts.original_transaction_id = leased.original_transaction_id
    ) AS receipt
FROM leased
ORDER BY due_at, original_transaction_id;
