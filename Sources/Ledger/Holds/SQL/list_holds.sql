-- Oldest first. $1 how many; $2–$6 a transaction, an app, a reason, a player, a product, or null; $7 the latest time of a hold,
-- or null
SELECT transaction_id, original_transaction_id, player_id, held.bundle_id, product_id, quantity, environment,
    held.reason, waived, submission_id, purchased_at, held_at, released_at,
    coalesce(note, (
        SELECT 'Apple has refunded it' FROM refunds
        WHERE refunds.transaction_id = held.transaction_id AND refunds.bundle_id = held.bundle_id
            AND refunds.environment = held.environment AND refunds.revoked_at IS NOT NULL
    )) AS note, catalog_version, tries, evidence
FROM (
    SELECT *
    FROM holds
    WHERE transaction_id = $2 AND ($3::text IS NULL OR bundle_id = $3) AND ($4::text IS NULL OR reason = $4)
        AND ($5::text IS NULL OR player_id = $5)
    UNION ALL
    SELECT one.*
    FROM kinds_of_holds($3, $4) AS kind
    CROSS JOIN LATERAL (
        SELECT * FROM holds
        WHERE bundle_id = kind.bundle_id AND reason = kind.reason AND held_at <= coalesce($7::timestamptz, 'infinity')
            AND ($5::text IS NULL OR player_id = $5) AND ($6::text IS NULL OR product_id = $6)
        ORDER BY held_at, transaction_id, player_id
        LIMIT $1
    ) AS one
    WHERE $2::text IS NULL
    ORDER BY held_at, transaction_id, player_id
    LIMIT $1
) AS held
ORDER BY held_at, transaction_id, player_id;
