-- Finds parked submissions that nobody has leased, the oldest first. $1 a submission; $2 a player, or null; $3 how
-- many, or null
SELECT id
FROM parked
WHERE submission_id = $1 AND ($2::text IS NULL OR player_id = $2)
    AND (leased_until IS NULL OR leased_until NOT BETWEEN now() AND now() + interval '10 minutes')
ORDER BY parked_at, id
LIMIT $3;
