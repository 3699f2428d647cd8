-- Leases events that an operator decided, oldest first. $1 how many at most; $2 the lease in seconds
WITH taken AS (
    SELECT event_id
    FROM outbox
    WHERE leased_until = '-infinity'
    ORDER BY created_at, ordinal
    LIMIT $1
    FOR UPDATE SKIP LOCKED
), leased AS (
    UPDATE outbox
    SET leased_until = now() + make_interval(secs => $2)
    FROM taken
    WHERE outbox.event_id = taken.event_id
    RETURNING outbox.*
)
SELECT leased.event_id, leased.record_key, leased.traceparent, coalesce(leased.event, grants.event) AS event,
    grants.period_id
FROM leased
LEFT JOIN grants ON grants.transaction_id = leased.transaction_id
ORDER BY leased.created_at, leased.ordinal;
