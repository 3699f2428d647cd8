-- Lists unpublished events. $1 a transaction, a player or a submission; $2 how many
SELECT coalesce(json_agg(found), '[]')::text AS rows
FROM (
    SELECT event_id, coalesce(told ->> 'type', 'receipt.granted') AS type, record_key AS player_id,
        coalesce(transaction_id, told ->> 'submission_id') AS subject, created_at, leased_until
    FROM outbox
    CROSS JOIN LATERAL (SELECT convert_from(outbox.event, 'UTF8')::json AS told) AS read
    WHERE transaction_id = $1 OR record_key = $1
        -- An index of submission ids would slow the hot path. The statement reads an event as JSON only if the event's
        -- bytes contain the id.
        OR (position(convert_to($1, 'UTF8') IN outbox.event) > 0 AND told ->> 'submission_id' = $1)
    ORDER BY created_at DESC
    LIMIT $2
) AS found;
