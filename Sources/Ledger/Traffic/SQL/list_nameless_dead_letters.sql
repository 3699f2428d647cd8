-- Records that name no sender and are dead letters, newest first, as far as they are kept. $1 reasons; $2 how many; $3 of how many
-- of the last that were kept
SELECT event_id, submission_id, player_id, reason, detail_code, detail, occurred_at
FROM (SELECT * FROM local_refusals ORDER BY kept_at DESC LIMIT $3::int8) AS newest
WHERE reason = ANY ($1::text[])
ORDER BY occurred_at DESC, event_id
LIMIT $2::int8;
