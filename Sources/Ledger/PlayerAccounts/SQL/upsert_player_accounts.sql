-- Stores the newest record of each token, sorted by app and token. Of two records in one partition, the record with the
-- higher offset is newer. If the topic was created again, or if the records are in two partitions, the record with the
-- later time is newer. $1–$6 a column each
INSERT INTO player_accounts AS known (
    bundle_id, token, player_id, source_partition, source_offset, source_timestamp)
SELECT * FROM unnest($1::text[], $2::bytea[], $3::text[], $4::int4[], $5::int8[], $6::timestamptz[])
ON CONFLICT (bundle_id, token) DO UPDATE
SET player_id = excluded.player_id, source_partition = excluded.source_partition,
    source_offset = excluded.source_offset, source_timestamp = excluded.source_timestamp
WHERE known.source_timestamp < excluded.source_timestamp
    OR known.source_partition = excluded.source_partition AND known.source_offset < excluded.source_offset
    OR known.source_partition <> excluded.source_partition AND known.source_timestamp = excluded.source_timestamp;
