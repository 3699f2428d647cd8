-- What is not published yet. $1 a transaction, a player or a submission; $2 how many
SELECT coalesce(json_agg(found), '[]')::text
FROM (
    SELECT event_id, coalesce(event ->> 'type', 'receipt.granted') AS type, record_key AS player_id,
        coalesce(transaction_id, event ->> 'submission_id') AS subject, created_at, leased_until
    FROM (
        SELECT event_id, record_key, transaction_id, created_at, leased_until, convert_from(event, 'UTF8')::json AS event
        FROM outbox
    ) AS pending
    WHERE transaction_id = $1 OR record_key = $1 OR event ->> 'submission_id' = $1
    ORDER BY created_at DESC
    LIMIT $2
) AS found;
