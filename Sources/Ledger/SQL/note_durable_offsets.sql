-- Whatever stood there: a topic made anew begins again at 0. $1 topic; $2 partitions, sorted; $3 next offsets
INSERT INTO durable_offsets AS known (topic, partition, next_offset)
SELECT $1, partition, next_offset
FROM unnest($2::int4[], $3::int8[]) AS noted (partition, next_offset)
ON CONFLICT (topic, partition) DO UPDATE SET next_offset = excluded.next_offset, noted_at = now()
    WHERE known.next_offset <> excluded.next_offset;
