-- Those that nobody works on, oldest first. $1 an app, $2 a reason, or null; $3 how many, or null
SELECT id
FROM parked
WHERE ($1::text IS NULL OR bundle_id = $1) AND ($2::text IS NULL OR reason = $2)
    AND (leased_until IS NULL OR leased_until NOT BETWEEN now() AND now() + interval '10 minutes')
ORDER BY parked_at, id
LIMIT $3;
