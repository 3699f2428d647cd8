-- Counts a departure of each partition's owner. A partition without a checkpoint is left out: no start of an owner is
-- recorded for it either.
-- $1 group; $2 topic; $3 partitions
UPDATE offset_checkpoints SET departures = departures + 1
WHERE group_id = $1 AND topic = $2 AND partition = ANY ($3::int4[])
RETURNING partition, departures;
