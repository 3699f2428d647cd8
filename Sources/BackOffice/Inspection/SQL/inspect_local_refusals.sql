-- Lists the stored sample of local rejections, the newest first.
-- $1 a submission, a player or an event; $2 how many
SELECT coalesce(json_agg(found), '[]')::text AS rows
FROM (
    -- A dead letter that names no sender has no event.
    SELECT occurred_at, submission_id, player_id, bundle_id, reason, detail_code, detail,
        CASE WHEN reason NOT IN ('malformed_message', 'bad_signature', 'too_large', 'crashed', 'unreadable_batch')
        THEN event_id END AS event_id
    FROM local_refusals
    WHERE event_id IN (
        SELECT event_id FROM local_refusals WHERE submission_id = $1
        UNION
        SELECT event_id FROM local_refusals WHERE player_id = $1
        UNION
        SELECT event_id FROM local_refusals
        WHERE event_id = CASE
            WHEN $1 ~ '^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$' THEN $1::uuid END
    )
    ORDER BY occurred_at DESC, event_id
    LIMIT $2
) AS found;
