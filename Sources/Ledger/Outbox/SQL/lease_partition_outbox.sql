-- Leases a partition's events for its new owner, of any age, even if they are leased.
-- $1 topic; $2 partition; $3 how many at most; $4 the lease in seconds
WITH taken AS (
    SELECT event_id
    FROM outbox
    WHERE source_topic = $1 AND source_partition = $2
    ORDER BY created_at, ordinal
    LIMIT $3
    FOR UPDATE
), leased AS (
    UPDATE outbox
    SET leased_until = now() + make_interval(secs => $4)
    FROM taken
    WHERE outbox.event_id = taken.event_id
    RETURNING outbox.*
)
SELECT leased.event_id, leased.record_key, leased.traceparent, coalesce(leased.event, grants.event) AS event,
    grants.period_id
FROM leased
LEFT JOIN grants ON grants.transaction_id = leased.transaction_id
ORDER BY leased.created_at, leased.ordinal;
