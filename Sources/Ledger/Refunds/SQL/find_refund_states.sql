-- What Apple said last of each, and when the notifications were signed that told of refunds and of reversals, but for
-- reversals that changed nothing: in microseconds since 1970. $1 transactions; $2 periods; their claims are locked
WITH known AS (
    SELECT * FROM refunds WHERE transaction_id = ANY ($1::text[])
    UNION
    SELECT * FROM refunds WHERE period_id = ANY ($2::text[])
)
SELECT transaction_id, bundle_id, environment, revoked_at, signed_at, reason, refunded_milli_percent, earlier_parts,
    period_id, ARRAY(
        SELECT (extract(epoch FROM notice.signed_at) * 1000000)::int8::text
        FROM refund_notices AS notice
        WHERE notice.transaction_id = known.transaction_id AND notice.bundle_id = known.bundle_id
            AND notice.environment = known.environment AND notice.type IN ('REFUND', 'REVOKE')) AS refunds_told,
    ARRAY(
        SELECT (extract(epoch FROM notice.signed_at) * 1000000)::int8::text
        FROM refund_notices AS notice
        WHERE notice.transaction_id = known.transaction_id AND notice.bundle_id = known.bundle_id
            AND notice.environment = known.environment AND notice.type = 'REFUND_REVERSED'
            AND notice.effect <> 'outdated') AS reversals_told
FROM known;
