-- Counts that each partition's owner left in order. Leaves out a partition without a checkpoint, which has no recorded
-- start of an owner either.
-- $1 group; $2 topic; $3 partitions
UPDATE offset_checkpoints SET departures = departures + 1
WHERE group_id = $1 AND topic = $2 AND partition = ANY ($3::int4[])
RETURNING partition, departures;
