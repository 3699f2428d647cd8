-- Oldest first. $1 how many; $2 an app, $3 a reason, or null
SELECT transaction_id, original_transaction_id, player_id, bundle_id, product_id, quantity, environment, reason, waived,
    submission_id, purchased_at, held_at, released_at,
    coalesce(note, (
        SELECT 'Apple has refunded it' FROM refunds
        WHERE refunds.transaction_id = holds.transaction_id AND refunds.bundle_id = holds.bundle_id
            AND refunds.environment = holds.environment AND refunds.revoked_at IS NOT NULL
    )), catalog_version, tries
FROM holds
WHERE ($2::text IS NULL OR bundle_id = $2) AND ($3::text IS NULL OR reason = $3)
ORDER BY held_at, transaction_id
LIMIT $1;
