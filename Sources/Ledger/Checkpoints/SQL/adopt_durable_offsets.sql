-- Inserts the offsets that workers of version 3 stored, for a group's partitions without a row.
-- $1 group; $2 topic; $3 partitions
INSERT INTO offset_checkpoints (group_id, topic, partition, next_offset, writer, version, departures)
SELECT $1, topic, partition, next_offset, 0, 1, departures
FROM durable_offsets
WHERE topic = $2 AND partition = ANY ($3::int4[])
ON CONFLICT (group_id, topic, partition) DO NOTHING;
