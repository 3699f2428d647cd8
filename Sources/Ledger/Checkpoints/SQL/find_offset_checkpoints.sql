-- $1 group; $2 topic; $3 partitions
SELECT partition, next_offset, writer, version, departures
FROM offset_checkpoints
WHERE group_id = $1 AND topic = $2 AND partition = ANY ($3::int4[]);
