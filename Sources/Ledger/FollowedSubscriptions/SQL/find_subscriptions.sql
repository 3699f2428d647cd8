-- Finds subscriptions whose claims are locked. Raises the revision to the floor, because the next revision must be
-- above every revision that was published in a lost state of the database: a game server ignores an event whose id it
-- has seen.
-- $1 originals, sorted
SELECT original_transaction_id, player_id, bundle_id, product_id, subscription_group_id, state, expires_at,
    grace_expires_at, will_renew, renewal_product_id, environment, greatest(revision, floor) AS revision,
    -- If the stored revision is not above the floor, the subscription has had no event since the fall back.
    floor > 0 AND revision <= floor AS is_from_before_fall, (
        SELECT true FROM unowned_subscriptions AS kept
        WHERE kept.original_transaction_id = subscriptions.original_transaction_id
        LIMIT 1
    ) IS NOT NULL AS has_kept_facts, period_began_at, state_told_at, will_renew_told_at,
    renewal_product_told_at, due_at, tries, history_since, periods_since
FROM subscriptions
CROSS JOIN revision_floor() AS floor
WHERE original_transaction_id = ANY ($1::text[]);
