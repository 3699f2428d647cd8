-- The insert decides: a row that stands there stays, and does not come back. Sorted by transaction.
INSERT INTO holds (
    transaction_id, original_transaction_id, player_id, bundle_id, product_id, reason, submission_key, submission_id,
    environment, quantity, purchased_at, expires_at, catalog_version, held_at, source_topic, source_partition,
    source_offset, source_timestamp, traceparent, evidence)
SELECT *
FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::uuid[], $8::text[], $9::text[],
    $10::int4[], $11::timestamptz[], $12::timestamptz[], $13::int8[], $14::timestamptz[], $15::text[], $16::int4[],
    $17::int8[], $18::timestamptz[], $19::text[], $20::bytea[])
ON CONFLICT DO NOTHING
RETURNING transaction_id;
