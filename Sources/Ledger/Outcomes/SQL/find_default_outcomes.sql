-- Finds rows in the default partition, oldest decision first. Leaves out rows of the last ten minutes, because another
-- replica may be deciding the same record. $1 how many at most
SELECT ctid::text AS place
FROM outcomes_default
WHERE decided_at < now() - interval '10 minutes'
ORDER BY decided_at
LIMIT $1;
