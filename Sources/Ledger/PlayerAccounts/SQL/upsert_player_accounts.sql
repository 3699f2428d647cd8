-- The newest record of each token, sorted by app and token. Behind the known one is what has a lower offset of the same
-- partition, unless the topic was made anew: then its time is later. Of another partition, as after the topic got more of them,
-- only the time decides. $1–$6 a column each
INSERT INTO player_accounts AS known (
    bundle_id, token, player_id, source_partition, source_offset, source_timestamp)
SELECT * FROM unnest($1::text[], $2::bytea[], $3::text[], $4::int4[], $5::int8[], $6::timestamptz[])
ON CONFLICT (bundle_id, token) DO UPDATE
SET player_id = excluded.player_id, source_partition = excluded.source_partition,
    source_offset = excluded.source_offset, source_timestamp = excluded.source_timestamp
WHERE known.source_timestamp < excluded.source_timestamp
    OR known.source_partition = excluded.source_partition AND known.source_offset < excluded.source_offset
    OR known.source_partition <> excluded.source_partition AND known.source_timestamp = excluded.source_timestamp;
