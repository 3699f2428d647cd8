-- Finds a player's outcomes in some blocks of a day's partition.
-- $1 player; $2 day; $3 first block, $4 the first block after these, as tuple ids
SELECT source_topic, source_partition, source_offset, content, day - date '1970-01-01' AS day, proof, answer, submission_id
FROM outcomes
WHERE player_id = $1 AND day = $2::date AND ctid >= $3::text::tid AND ctid < $4::text::tid;
