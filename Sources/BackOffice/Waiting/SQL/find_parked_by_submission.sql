-- Finds parked submissions that nobody has leased, the oldest first. $1 a submission; $2 how many, or null
SELECT id
FROM parked
WHERE submission_id = $1 AND (leased_until IS NULL OR leased_until NOT BETWEEN now() AND now() + interval '10 minutes')
ORDER BY parked_at, id
LIMIT $2;
