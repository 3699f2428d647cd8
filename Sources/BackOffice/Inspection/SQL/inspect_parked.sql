-- $1 a submission or a player; $2 how many; $3 how many newer rows are left out
SELECT coalesce(json_agg(found), '[]')::text AS rows
FROM (
    SELECT submission_id, player_id, bundle_id, reason, detail, sql_state, failures, parkings, parked_at, due_at,
        leased_until > now() AS is_leased, source_topic AS topic, source_partition AS partition,
        source_offset AS "offset", encode(proof, 'hex') AS proof_sha256, tries
    FROM parked
    WHERE id IN (
        SELECT id FROM parked WHERE submission_id = $1
        UNION
        SELECT id FROM parked WHERE player_id = $1 AND reason <> 'player_share'
        UNION
        SELECT id FROM parked WHERE player_id = $1 AND reason = 'player_share'
    )
    ORDER BY parked_at DESC, id
    LIMIT $2::int8 OFFSET $3::int8
) AS found;
