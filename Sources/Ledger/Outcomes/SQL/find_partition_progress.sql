-- Finds for each partition the offset above which nothing was ever decided. $1 topic; $2 partitions
SELECT partition, max(decided_offset) AS decided_offset
FROM partition_progress
WHERE topic = $1 AND partition = ANY ($2::int4[])
GROUP BY partition;
