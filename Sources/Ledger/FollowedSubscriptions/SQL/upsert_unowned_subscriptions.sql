-- Writes the newest facts about subscriptions without a grant, or of apps that follow no renewals. The claims of their
-- originals are locked. If the subscription has a row in subscriptions, the row becomes due, so that it takes over the
-- facts once its app follows renewals. This ends the row's lease, because the worker that has the lease may not see
-- these facts.
-- $1–$14 a column each, sorted by original
WITH due AS (
    UPDATE subscriptions
    SET due_at = least(due_at, now()), leased_until = NULL
    FROM unnest($1::text[], $2::text[], $10::text[]) AS told (original_transaction_id, bundle_id, environment)
    WHERE subscriptions.original_transaction_id = told.original_transaction_id
        -- For the join alone, the planner might read the whole table.
        AND subscriptions.original_transaction_id = ANY ($1::text[])
        AND subscriptions.bundle_id = told.bundle_id AND subscriptions.environment = told.environment
        -- No worker checks a subscription without an owner, or of an erased player.
        AND (
            SELECT player_id FROM claims
            WHERE claims.original_transaction_id = subscriptions.original_transaction_id
        ) IS NOT NULL
        AND NOT EXISTS (SELECT FROM erasures WHERE pseudonym = subscriptions.player_id)
)
INSERT INTO unowned_subscriptions (
    original_transaction_id, bundle_id, product_id, subscription_group_id, state, expires_at, grace_expires_at,
    will_renew, renewal_product_id, environment, period_began_at, state_told_at, will_renew_told_at,
    renewal_product_told_at)
SELECT * FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[], $7::timestamptz[], $8::bool[],
    $9::text[], $10::text[], $11::timestamptz[], $12::timestamptz[], $13::timestamptz[], $14::timestamptz[])
ON CONFLICT (original_transaction_id) DO UPDATE
SET product_id = excluded.product_id, subscription_group_id = excluded.subscription_group_id, state = excluded.state,
    expires_at = excluded.expires_at, grace_expires_at = excluded.grace_expires_at, will_renew = excluded.will_renew,
    renewal_product_id = excluded.renewal_product_id, period_began_at = excluded.period_began_at,
    state_told_at = excluded.state_told_at, will_renew_told_at = excluded.will_renew_told_at,
    renewal_product_told_at = excluded.renewal_product_told_at;
