-- Lists the dead letters in the sample of local refusals, the newest first.
-- $1 reasons; $2 how many; $3 how many of the newest local refusals to search, of $4 or of all players; $4 null, a
-- player, or the key of a record that names no player; $5 the earliest time, or null
SELECT event_id, submission_id, player_id, reason, detail_code, detail, occurred_at
FROM (
    (SELECT * FROM local_refusals WHERE $4::text IS NULL ORDER BY kept_at DESC LIMIT $3::int8)
    UNION ALL
    (SELECT * FROM local_refusals WHERE player_id = $4 ORDER BY kept_at DESC LIMIT $3::int8)
) AS newest
WHERE reason = ANY ($1::text[]) AND occurred_at >= coalesce($5::timestamptz, '-infinity')
ORDER BY occurred_at DESC, event_id
LIMIT $2::int8;
