-- A refused hold of another player gives way; any other row stays, and does not come back. Sorted by transaction.
INSERT INTO holds AS known (
    transaction_id, original_transaction_id, player_id, bundle_id, product_id, reason, submission_key, submission_id,
    environment, quantity, purchased_at, expires_at, catalog_version, held_at, source_topic, source_partition,
    source_offset, source_timestamp)
SELECT *
FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::uuid[], $8::text[], $9::text[],
    $10::int4[], $11::timestamptz[], $12::timestamptz[], $13::int8[], $14::timestamptz[], $15::text[], $16::int4[],
    $17::int8[], $18::timestamptz[])
ON CONFLICT (transaction_id) DO UPDATE
SET original_transaction_id = excluded.original_transaction_id, player_id = excluded.player_id,
    bundle_id = excluded.bundle_id, product_id = excluded.product_id, reason = excluded.reason,
    submission_key = excluded.submission_key, submission_id = excluded.submission_id,
    environment = excluded.environment, quantity = excluded.quantity, purchased_at = excluded.purchased_at,
    expires_at = excluded.expires_at, catalog_version = excluded.catalog_version, held_at = excluded.held_at,
    source_topic = excluded.source_topic, source_partition = excluded.source_partition,
    source_offset = excluded.source_offset, source_timestamp = excluded.source_timestamp, refused_at = NULL
WHERE known.refused_at IS NOT NULL AND known.player_id <> excluded.player_id
RETURNING transaction_id;
