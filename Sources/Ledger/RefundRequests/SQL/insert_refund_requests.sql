-- Those whose transaction is granted, held or refused, or waits for its delivery, or which is a non-consumable granted under
-- another id. Sorted by notification; the claims are locked. $1–$10 a column each
INSERT INTO refund_requests (
    notification_id, transaction_id, original_transaction_id, player_id, bundle_id, product_id, environment, kind,
    reason, signed_at, answer_by)
SELECT asked.notification_id, asked.transaction_id, asked.original_transaction_id, owner.player_id, asked.bundle_id,
    asked.product_id, asked.environment, coalesce(asked.kind, owner.kind), asked.reason, asked.signed_at,
    asked.answer_by
FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
    $9::timestamptz[], $10::timestamptz[])
    AS asked (
        notification_id, transaction_id, original_transaction_id, bundle_id, product_id, environment, kind, reason,
        signed_at, answer_by)
CROSS JOIN LATERAL (
    SELECT player_id, kind
    FROM (
        (SELECT 1 AS place, player_id, kind
        FROM grants
        WHERE grants.transaction_id = asked.transaction_id AND grants.bundle_id = asked.bundle_id
            AND grants.environment = asked.environment
        LIMIT 1)
        UNION ALL
        (SELECT 2, grants.player_id, grants.kind
        FROM claims
        JOIN grants ON grants.transaction_id = claims.granted_transaction_id
        WHERE claims.original_transaction_id = asked.original_transaction_id AND grants.bundle_id = asked.bundle_id
            AND grants.environment = asked.environment
        LIMIT 1)
        UNION ALL
        -- Not by the index of apps, however few rows there were when the plan was made.
        (SELECT 3, player_id, NULL
        FROM (SELECT * FROM holds WHERE holds.transaction_id = asked.transaction_id OFFSET 0) AS held
        WHERE held.bundle_id = asked.bundle_id AND held.environment = asked.environment
        LIMIT 1)
        UNION ALL
        (SELECT 4, player_id, NULL
        FROM (SELECT * FROM announced_purchases AS known WHERE known.transaction_id = asked.transaction_id OFFSET 0) AS told
        WHERE told.bundle_id = asked.bundle_id AND told.environment = asked.environment AND told.player_id IS NOT NULL
        LIMIT 1)
        UNION ALL
        (SELECT 5, player_id, NULL
        FROM refusals
        WHERE refusals.transaction_id = asked.transaction_id
        ORDER BY refused_at DESC
        LIMIT 1)
    ) AS known
    ORDER BY place
    LIMIT 1
) AS owner
ON CONFLICT DO NOTHING
RETURNING notification_id, player_id;
