-- Finds the originals that have a row in subscriptions, or must get one. Such an original, or the original that it
-- continues, has a grant or a row in subscriptions. Returns the facts about these originals, and deletes the facts from
-- unowned_subscriptions. The claims are locked.
-- The first revision is above every revision that was published in a lost state of the database, as in
-- find_subscriptions.sql.
-- $1 originals, sorted; $2 the originals that they continue, or null; $3 apps; $4 environments
WITH let_in AS (
    SELECT wanted.original_transaction_id
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[])
        AS wanted (original_transaction_id, previous_id, bundle_id, environment)
    WHERE EXISTS (
            SELECT FROM grants
            WHERE transaction_id IN (wanted.original_transaction_id, wanted.previous_id)
                AND bundle_id = wanted.bundle_id AND environment = wanted.environment)
        OR EXISTS (
            SELECT FROM grants
            WHERE original_transaction_id IN (wanted.original_transaction_id, wanted.previous_id)
                AND original_transaction_id <> transaction_id
                AND bundle_id = wanted.bundle_id AND environment = wanted.environment)
        OR (
            SELECT true FROM subscriptions
            WHERE original_transaction_id IN (wanted.original_transaction_id, wanted.previous_id)
                AND bundle_id = wanted.bundle_id AND environment = wanted.environment
            LIMIT 1)
), taken AS (
    DELETE FROM unowned_subscriptions
    WHERE original_transaction_id = ANY (ARRAY(SELECT original_transaction_id FROM let_in))
    RETURNING *
)
SELECT original_transaction_id, '' AS player_id, bundle_id, product_id, subscription_group_id, state, expires_at,
    grace_expires_at, will_renew, renewal_product_id, environment,
    (SELECT revision_floor()) + 1 AS first_revision, 1 AS revision, period_began_at, state_told_at,
    will_renew_told_at, renewal_product_told_at, NULL::timestamptz AS due_at, 0 AS tries,
    NULL::timestamptz AS history_since, NULL::timestamptz AS periods_since
FROM let_in
LEFT JOIN taken USING (original_transaction_id);
