-- Inserts notifications. A notification without a transaction has no claim to lock, so another replica may have
-- inserted it meanwhile. $1–$9 a column each, sorted by notification
INSERT INTO notifications (
    notification_id, type, subtype, bundle_id, environment, transaction_id, source, effect, signed_at)
SELECT *
FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::timestamptz[])
ON CONFLICT DO NOTHING;
