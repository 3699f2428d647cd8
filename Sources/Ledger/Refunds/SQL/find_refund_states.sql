-- What Apple said last of each, and when the first notification of a refund of it was signed. $1 transactions, whose claims
-- are locked
SELECT transaction_id, bundle_id, environment, revoked_at, signed_at, reason, refunded_milli_percent,
    (SELECT min(notice.signed_at)
    FROM refund_notices AS notice
    WHERE notice.transaction_id = refunds.transaction_id AND notice.bundle_id = refunds.bundle_id
        AND notice.environment = refunds.environment AND notice.type IN ('REFUND', 'REVOKE')) AS first_refund_at
FROM refunds
WHERE transaction_id = ANY ($1::text[]);
