-- Writes the newest facts about subscriptions without a grant. The claims of their originals are locked.
-- $1–$14 a column each, sorted by original
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
