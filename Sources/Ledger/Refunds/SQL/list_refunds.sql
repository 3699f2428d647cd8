-- The newest notice first, with whom it was granted to.
-- in: $1 limit int8, $2 an app or null, $3 'refunded', 'reversed' or null, $4 a player or null, $5 a product or null, $6 the
-- earliest time of the notice or null
SELECT refund.transaction_id, refund.bundle_id, refund.environment, refund.original_transaction_id, refund.product_id,
    refund.revoked_at, refund.reason, refund.refunded_milli_percent, refund.noted_at, granted.player_id,
    granted.revoked_units, granted.quantity, granted.operator_revoked_at IS NOT NULL AS is_revoked_by_operator
FROM refunds AS refund
LEFT JOIN grants AS granted ON granted.transaction_id = refund.transaction_id
    AND granted.bundle_id = refund.bundle_id AND granted.environment = refund.environment
WHERE ($2::text IS NULL OR refund.bundle_id = $2)
    AND ($3::text IS NULL OR (refund.revoked_at IS NULL) = ($3 = 'reversed'))
    AND ($4::text IS NULL OR refund.transaction_id IN (SELECT transaction_id FROM grants WHERE player_id = $4))
    AND ($5::text IS NULL OR refund.product_id = $5) AND refund.noted_at >= coalesce($6::timestamptz, '-infinity')
ORDER BY refund.noted_at DESC, refund.transaction_id
LIMIT $1::int8
