-- Finds the submissions of an order or an event, and the transactions of an event without a submission, among recent
-- grants and in the outbox. The ids of orders and events have no index, because an index would slow the hot path. So
-- the statement reads an event as JSON only if the event's bytes contain the id.
-- $1 the id of an order or of an event; $2 how many days back to search grants; $3 how many
SELECT DISTINCT name
FROM (
    (
        SELECT coalesce(submission_id, transaction_id) AS name
        FROM (
            SELECT submission_id, transaction_id, event
            FROM grants
            WHERE granted_at >= now() - $2::int4 * interval '1 day'
                AND position((SELECT convert_to($1, 'UTF8')) IN event) > 0
            -- OFFSET 0 hides the outer LIMIT from the planner. With the limit a scan of the table looks cheap, as if
            -- many rows matched.
            OFFSET 0
        ) AS recent
        CROSS JOIN LATERAL (SELECT convert_from(recent.event, 'UTF8')::json AS told) AS read
        WHERE $1 IN (told ->> 'order_id', told ->> 'event_id')
        LIMIT $3
    )
    UNION ALL
    (
        SELECT coalesce(transaction_id, told ->> 'submission_id')
        FROM outbox
        CROSS JOIN LATERAL (SELECT convert_from(outbox.event, 'UTF8')::json AS told) AS read
        WHERE position((SELECT convert_to($1, 'UTF8')) IN outbox.event) > 0
            AND $1 IN (told ->> 'order_id', told ->> 'event_id')
        LIMIT $3
    )
) AS found
WHERE name IS NOT NULL AND name <> $1
LIMIT $3;
