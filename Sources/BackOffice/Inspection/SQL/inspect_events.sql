-- Lists the granted events of some transactions, with the members that a trace shows. $1 transactions
SELECT coalesce(json_agg(found), '[]')::text AS rows
FROM (
    SELECT transaction_id, submission_id, told ->> 'event_id' AS event_id, told ->> 'occurred_at' AS occurred_at,
        told -> 'risk' AS risk, told ->> 'detail_code' AS detail_code, told -> 'transactions' AS transactions,
        EXISTS (SELECT FROM outbox WHERE outbox.event_id = (told ->> 'event_id')::uuid) AS is_pending
    FROM grants
    CROSS JOIN LATERAL (SELECT convert_from(event, 'UTF8')::json AS told) AS event
    WHERE transaction_id = ANY ($1::text[]) AND event IS NOT NULL
) AS found;
