-- Locks grants. The locks on their claims are not enough, because another system may change a grant without a lock on
-- the claim.
-- Raises the revision to the floor, because the next revision must be above every revision that was published in a lost
-- state of the database: a game server ignores an event whose id it has seen.
-- $1 transactions, sorted
SELECT transaction_id, original_transaction_id, player_id, bundle_id, product_id, quantity, environment, purchased_at,
    expires_at, submission_id, greatest(revision, (SELECT revision_floor())) AS revision, event,
    -- An imported grant has no kind, so the notice's kind decides.
    coalesce(kind, 'non_consumable') = 'non_consumable' AS is_non_consumable,
    revoked_at, operator_revoked_at, apple_revoked_at, apple_revocation_reason, apple_revoked_milli_percent, lost_before() AS lost_before,
    revision AS told_revision
FROM grants
WHERE transaction_id = ANY ($1::text[])
ORDER BY transaction_id
FOR UPDATE;
