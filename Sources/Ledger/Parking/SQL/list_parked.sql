-- Oldest first. $1 how many; $2 an app, $3 a reason, or null
SELECT id, submission_id, player_id, one.bundle_id, one.reason, detail, sql_state, failures, parkings, parked_at, due_at,
    leased_until > now() AS is_leased, source_topic, source_partition, source_offset
FROM kinds_of_parked($2, $3) AS kind
CROSS JOIN LATERAL (
    SELECT * FROM parked
    WHERE bundle_id = kind.bundle_id AND reason = kind.reason
    ORDER BY parked_at, id
    LIMIT $1
) AS one
ORDER BY parked_at, id
LIMIT $1;
