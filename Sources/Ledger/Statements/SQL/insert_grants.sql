-- The insert decides: what comes back was granted now, what does not was granted before. Arrays sorted by transaction.
INSERT INTO grants (
    transaction_id, original_transaction_id, player_id, bundle_id, product_id, quantity, environment, purchased_at,
    submission_id, granted_at, submission_key, kind, expires_at, event, catalog_version, is_bound,
    app_transaction_id)
SELECT *
FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::int4[], $7::text[], $8::timestamptz[],
    $9::text[], $10::timestamptz[], $11::uuid[], $12::text[], $13::timestamptz[], $14::bytea[], $15::int8[],
    $16::bool[], $17::text[])
ON CONFLICT DO NOTHING
RETURNING transaction_id;
