-- Counts the owner of each partition as departed without dying. Leaves out a partition without a checkpoint: without a
-- checkpoint, no owner's start was recorded either.
-- $1 group; $2 topic; $3 partitions
UPDATE offset_checkpoints SET departures = departures + 1
WHERE group_id = $1 AND topic = $2 AND partition = ANY ($3::int4[])
RETURNING partition, departures;
