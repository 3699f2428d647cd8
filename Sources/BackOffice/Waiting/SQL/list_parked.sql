-- Lists parked submissions, the oldest first.
-- $1 how many; $2 how many older rows are left out; $3–$6 a submission, an app, a reason, a player, or null; $7 the
-- latest time of parking, or null
SELECT id, submission_id, player_id, bundle_id, reason, detail, sql_state, failures, parkings, parked_at, due_at,
    leased_until > now() AS is_leased, source_topic, source_partition, source_offset
FROM (
    -- PostgreSQL reads only the index for the rows that are left out.
    SELECT id, parked_at
    FROM parked
    WHERE submission_id = $3 AND ($4::text IS NULL OR bundle_id = $4) AND ($5::text IS NULL OR reason = $5)
        AND ($6::text IS NULL OR player_id = $6)
    UNION ALL
    SELECT one.*
    FROM kinds_of_parked($4, $5) AS kind
    CROSS JOIN LATERAL (
        SELECT id, parked_at FROM parked
        WHERE bundle_id = kind.bundle_id AND reason = kind.reason AND parked_at <= coalesce($7::timestamptz, 'infinity')
            AND ($6::text IS NULL OR player_id = $6)
        ORDER BY parked_at, id
        LIMIT $1::int8 + $2::int8
    ) AS one
    WHERE $3::text IS NULL
    ORDER BY parked_at, id
    LIMIT $1::int8 OFFSET $2::int8
) AS place
JOIN parked USING (id, parked_at)
ORDER BY parked_at, id;
