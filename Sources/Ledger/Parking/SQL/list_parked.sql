-- Oldest first. $1 how many; $2–$5 a submission, an app, a reason, a player, or null; $6 the latest time of parking, or null
SELECT id, submission_id, player_id, one.bundle_id, one.reason, detail, sql_state, failures, parkings, parked_at, due_at,
    leased_until > now() AS is_leased, source_topic, source_partition, source_offset
FROM (
    SELECT *
    FROM parked
    WHERE submission_id = $2 AND ($3::text IS NULL OR bundle_id = $3) AND ($4::text IS NULL OR reason = $4)
    UNION ALL
    SELECT listed.*
    FROM kinds_of_parked($3, $4) AS kind
    CROSS JOIN LATERAL (
        SELECT * FROM parked
        WHERE bundle_id = kind.bundle_id AND reason = kind.reason AND parked_at <= coalesce($6::timestamptz, 'infinity')
            AND ($5::text IS NULL OR player_id = $5)
        ORDER BY parked_at, id
        LIMIT $1
    ) AS listed
    WHERE $2::text IS NULL
    ORDER BY parked_at, id
    LIMIT $1
) AS one
ORDER BY parked_at, id
LIMIT $1;
