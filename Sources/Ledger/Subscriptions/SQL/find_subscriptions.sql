-- Of originals whose claims are locked. $1 originals, sorted
-- What the database lost when it was put back may have told of further revisions, and an event whose id was told before counts for
-- nothing: the first change behind that is numbered above all of them.
SELECT original_transaction_id, player_id, bundle_id, product_id, subscription_group_id, state, expires_at,
    grace_expires_at, will_renew, renewal_product_id, environment,
    greatest(revision, (
        SELECT revisions_above FROM (
            SELECT fell_back_at, revisions_above FROM offsets_decided_again ORDER BY fell_back_at DESC LIMIT 1
        ) AS last
        WHERE fell_back_at > updated_at
    )) AS revision, period_began_at, state_told_at,
    will_renew_told_at, renewal_product_told_at, due_at, tries, history_since, periods_since
FROM subscriptions
WHERE original_transaction_id = ANY ($1::text[]);
