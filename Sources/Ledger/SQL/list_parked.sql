-- Oldest first. $1 how many; $2 an app, $3 a reason, or null
SELECT id, submission_id, player_id, bundle_id, reason, detail, sql_state, failures, parkings, parked_at, due_at,
    leased_until > now(), source_topic, source_partition, source_offset
FROM parked
WHERE ($2::text IS NULL OR bundle_id = $2) AND ($3::text IS NULL OR reason = $3)
ORDER BY parked_at, id
LIMIT $1;
