-- Finds a player's outcomes in some blocks of the default partition.
-- $1 player; $2 first block, $3 the first block after these, as tuple ids
SELECT source_topic, source_partition, source_offset, content, day - date '1970-01-01' AS day, proof, answer, submission_id
FROM outcomes_default
WHERE player_id = $1 AND ctid >= $2::text::tid AND ctid < $3::text::tid;
