-- Lists holds, the oldest first.
-- $1 how many; $2 how many older holds are left out; $3–$7 a transaction, an app, a reason, a player, a product, or
-- null; $8 the latest time of a hold, or null
SELECT transaction_id, original_transaction_id, player_id, held.bundle_id, product_id, quantity, environment,
    held.reason, waived, submission_id, purchased_at, held_at, released_at,
    coalesce(note, (
        SELECT 'Apple has refunded it' FROM refunds
        WHERE refunds.transaction_id = held.transaction_id AND refunds.bundle_id = held.bundle_id
            AND refunds.environment = held.environment AND refunds.revoked_at IS NOT NULL
    )) AS note, catalog_version, tries, evidence
FROM (
    -- PostgreSQL reads whole rows only for the page.
    SELECT transaction_id, player_id, held_at
    FROM holds
    WHERE transaction_id = $3 AND ($4::text IS NULL OR bundle_id = $4) AND ($5::text IS NULL OR reason = $5)
        AND ($6::text IS NULL OR player_id = $6)
    UNION ALL
    SELECT one.*
    FROM kinds_of_holds($4, $5) AS kind
    CROSS JOIN LATERAL (
        SELECT transaction_id, player_id, held_at FROM holds
        WHERE bundle_id = kind.bundle_id AND reason = kind.reason AND held_at <= coalesce($8::timestamptz, 'infinity')
            AND ($6::text IS NULL OR player_id = $6) AND ($7::text IS NULL OR product_id = $7)
        ORDER BY held_at, transaction_id, player_id
        LIMIT $1::int8 + $2::int8
    ) AS one
    WHERE $3::text IS NULL
    ORDER BY held_at, transaction_id, player_id
    LIMIT $1::int8 OFFSET $2::int8
) AS place
JOIN holds AS held USING (transaction_id, player_id, held_at)
ORDER BY held_at, transaction_id, player_id;
