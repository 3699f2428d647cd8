-- Lists refunds, the newest notice first, with the player who has the grant.
-- in: $1 limit int8, $2 how many newer refunds are left out int8, $3 an app or null, $4 'refunded', 'reversed' or null,
-- $5 a player or null, $6 a product or null, $7 the earliest time of the notice or null
SELECT refund.transaction_id, refund.bundle_id, refund.environment, refund.original_transaction_id, refund.product_id,
    refund.revoked_at, refund.reason, refund.refunded_milli_percent, refund.noted_at, granted.player_id,
    granted.revoked_units, granted.quantity, granted.operator_revoked_at IS NOT NULL AS is_revoked_by_operator
FROM (
    SELECT * FROM refunds
    WHERE ($3::text IS NULL OR bundle_id = $3) AND ($4::text IS NULL OR (revoked_at IS NULL) = ($4 = 'reversed'))
        AND ($5::text IS NULL OR transaction_id IN (SELECT transaction_id FROM grants WHERE player_id = $5))
        AND ($6::text IS NULL OR product_id = $6) AND noted_at >= coalesce($7::timestamptz, '-infinity')
    ORDER BY noted_at DESC, transaction_id
    LIMIT $1::int8 OFFSET $2::int8
) AS refund
LEFT JOIN grants AS granted ON granted.transaction_id = refund.transaction_id
    AND granted.bundle_id = refund.bundle_id AND granted.environment = refund.environment
ORDER BY refund.noted_at DESC, refund.transaction_id
