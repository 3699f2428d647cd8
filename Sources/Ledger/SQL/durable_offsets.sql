-- $1 topic; $2 partitions
SELECT partition, next_offset, departures FROM durable_offsets WHERE topic = $1 AND partition = ANY ($2::int4[]);
