-- $1 group; $2 topic; $3 partitions
SELECT partition, below_offset, fell_back_at
FROM offsets_decided_again
WHERE group_id = $1 AND topic = $2 AND partition = ANY ($3::int4[]);
