-- Of originals whose claims are locked. $1 originals, sorted
-- A database that was put back may have lost revisions that were told: what changes behind that is numbered far above them, for an
-- event whose id was told before counts for nothing.
SELECT original_transaction_id, player_id, bundle_id, product_id, subscription_group_id, state, expires_at,
    grace_expires_at, will_renew, renewal_product_id, environment,
    revision + CASE WHEN updated_at < (SELECT max(fell_back_at) FROM offsets_decided_again) THEN 999 ELSE 0 END AS revision,
    period_began_at, state_told_at,
    will_renew_told_at, renewal_product_told_at, due_at, tries, history_since, periods_since
FROM subscriptions
WHERE original_transaction_id = ANY ($1::text[]);
