-- Stores refunds and the notifications that reported them. None of these notifications is stored already: the worker
-- checked that under the claims' locks. $1–$9, $17 and $18 refunds by key, sorted; $10–$16 notifications, sorted
WITH entered AS (
    INSERT INTO refunds (
        transaction_id, bundle_id, environment, original_transaction_id, product_id, revoked_at, reason,
        refunded_milli_percent, signed_at, earlier_parts, period_id)
    SELECT *
    FROM unnest(
        $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[], $7::text[], $8::int4[],
        $9::timestamptz[], $17::text[], $18::text[])
    ON CONFLICT (transaction_id, bundle_id, environment) DO UPDATE
    SET revoked_at = excluded.revoked_at, reason = excluded.reason,
        refunded_milli_percent = excluded.refunded_milli_percent, signed_at = excluded.signed_at,
        earlier_parts = excluded.earlier_parts, period_id = coalesce(excluded.period_id, refunds.period_id), noted_at = now()
)
INSERT INTO refund_notices (notification_id, transaction_id, bundle_id, environment, type, effect, signed_at)
SELECT *
FROM unnest($10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::timestamptz[]);
