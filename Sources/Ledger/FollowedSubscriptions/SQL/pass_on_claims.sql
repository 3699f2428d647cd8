-- If a subscription has no owner, gives it the owner of the subscription that it continues, in the same app and
-- environment. The continued subscription must have a grant or a row in subscriptions. A hold is not enough: if it were
-- refused, its player would keep the claim. Nobody becomes an owner through an erased player. The claim was locked
-- before, or is inserted here.
-- $1 originals, sorted; $2 the originals that they continue; $3 apps; $4 environments
INSERT INTO claims AS known (original_transaction_id, player_id, bundle_id)
SELECT following.original_transaction_id, before.player_id, following.bundle_id
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[])
    AS following (original_transaction_id, previous_id, bundle_id, environment)
JOIN claims AS before ON before.original_transaction_id = following.previous_id
    AND before.bundle_id = following.bundle_id
WHERE before.player_id IS NOT NULL AND NOT EXISTS (SELECT FROM erasures WHERE pseudonym = before.player_id) AND (
    EXISTS (
        SELECT FROM grants
        WHERE transaction_id = before.original_transaction_id AND bundle_id = following.bundle_id
            AND environment = following.environment)
    OR EXISTS (
        SELECT FROM grants
        WHERE original_transaction_id = before.original_transaction_id AND original_transaction_id <> transaction_id
            AND bundle_id = following.bundle_id AND environment = following.environment)
    OR EXISTS (
        SELECT FROM subscriptions
        WHERE original_transaction_id = before.original_transaction_id AND bundle_id = following.bundle_id
            AND environment = following.environment))
ORDER BY following.original_transaction_id
ON CONFLICT (original_transaction_id) DO UPDATE SET player_id = excluded.player_id WHERE known.player_id IS NULL
RETURNING original_transaction_id, player_id;
