-- Writes checkpoints. The caller has locked and compared the existing rows. A row that another owner inserts meanwhile
-- is not changed.
-- $1 group; $2 topic; $3 partitions, sorted; $4 next offsets; $5 writers; $6 versions
INSERT INTO offset_checkpoints AS held (group_id, topic, partition, next_offset, writer, version)
SELECT $1, $2, partition, next_offset, writer, version
FROM unnest($3::int4[], $4::int8[], $5::int8[], $6::int8[]) AS new (partition, next_offset, writer, version)
ON CONFLICT (group_id, topic, partition) DO UPDATE
    SET next_offset = excluded.next_offset, writer = excluded.writer, version = excluded.version, written_at = now()
    WHERE held.version = excluded.version - 1
RETURNING partition;
