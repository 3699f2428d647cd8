-- Oldest first. $1 how many; $2 an app, $3 a reason, or null
SELECT transaction_id, original_transaction_id, player_id, held.bundle_id, product_id, quantity, environment,
    held.reason, waived, submission_id, purchased_at, held_at, released_at,
    coalesce(note, (
        SELECT 'Apple has refunded it' FROM refunds
        WHERE refunds.transaction_id = held.transaction_id AND refunds.bundle_id = held.bundle_id
            AND refunds.environment = held.environment AND refunds.revoked_at IS NOT NULL
    )) AS note, catalog_version, tries
FROM kinds_of_holds($2, $3) AS kind
CROSS JOIN LATERAL (
    SELECT * FROM holds
    WHERE bundle_id = kind.bundle_id AND reason = kind.reason
    ORDER BY held_at, transaction_id
    LIMIT $1
) AS held
ORDER BY held_at, transaction_id
LIMIT $1;
