-- Gives requests the owners that their transactions have now. A request with an owner then waits for the game server's
-- report, as if Apple had just sent it. A request without an owner gets a later due time. If the request's event was
-- published before the database fell back, the event's player is the owner.
-- For EXISTS, the planner might build a hash of the whole table. So each look-up is a subquery with LIMIT 1.
-- $1 notifications, with the claims of their originals locked; $2 seconds until the next try; $3 seconds that a request
-- waits for the game server; $4 seconds before Apple's deadline that are reserved for tries; $5 the claims of the
-- requests' events
WITH unowned AS (
    SELECT *
    FROM refund_requests
    WHERE notification_id = ANY ($1::text[]) AND player_id IS NULL AND due_at <= now() AND answer_by > now()
    FOR UPDATE SKIP LOCKED
), found AS (
    SELECT unowned.notification_id, coalesce(published.player_id, owner.player_id) AS player_id, owner.kind,
        CASE
            WHEN coalesce(published.player_id, owner.player_id) IS NULL THEN now() + make_interval(secs => $2)
            WHEN (
                SELECT true FROM consumption_reports
                WHERE consumption_reports.bundle_id = unowned.bundle_id
                    AND consumption_reports.transaction_id = unowned.transaction_id
                LIMIT 1) THEN now()
            ELSE greatest(
                now(),
                least(now() + make_interval(secs => $3), unowned.answer_by - make_interval(secs => $4)))
        END AS due_at
    FROM unowned
    LEFT JOIN unnest($1::text[], $5::text[]) AS event (notification_id, claim_id)
        ON event.notification_id = unowned.notification_id
    LEFT JOIN claims AS published ON published.original_transaction_id = event.claim_id
    LEFT JOIN LATERAL refund_owner(
        unowned.transaction_id, unowned.original_transaction_id, unowned.bundle_id, unowned.environment,
        unowned.period_id) AS owner ON true
)
UPDATE refund_requests AS asked
SET player_id = found.player_id, kind = coalesce(asked.kind, found.kind), due_at = found.due_at
FROM found
WHERE asked.notification_id = found.notification_id AND asked.notification_id = ANY ($1::text[])
RETURNING asked.notification_id, asked.transaction_id, asked.original_transaction_id, asked.bundle_id, asked.product_id,
    asked.environment, asked.kind, asked.period_id, asked.reason, asked.signed_at, asked.player_id;
