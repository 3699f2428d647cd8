-- Finds parked submissions that nobody has leased, the oldest first.
-- $1 an app, $2 a reason, $3 a player, $4 the latest time of parking, $5 how many, or null
SELECT one.id
FROM kinds_of_parked($1, $2) AS kind
CROSS JOIN LATERAL (
    SELECT id, parked_at FROM parked
    WHERE bundle_id = kind.bundle_id AND reason = kind.reason
        AND parked_at <= coalesce($4::timestamptz, 'infinity') AND ($3::text IS NULL OR player_id = $3)
        AND (leased_until IS NULL OR leased_until NOT BETWEEN now() AND now() + interval '10 minutes')
    ORDER BY parked_at, id
    LIMIT $5
) AS one
ORDER BY one.parked_at, one.id
LIMIT $5;
