-- A partition that was never noted has no owner's start to its name either. $1 topic; $2 partitions
UPDATE durable_offsets SET departures = departures + 1
WHERE topic = $1 AND partition = ANY ($2::int4[])
RETURNING partition, departures;
