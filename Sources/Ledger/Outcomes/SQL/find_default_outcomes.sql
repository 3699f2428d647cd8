-- Places of rows in the default partition, the first decided first. What was decided a moment ago is left there: another replica
-- may be deciding the same record. $1 how many
SELECT ctid::text AS place
FROM outcomes_default
WHERE decided_at < now() - interval '10 minutes'
ORDER BY decided_at
LIMIT $1;
