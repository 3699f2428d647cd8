-- Leases events whose worker has not published them, oldest first. $1 their least age and $3 the lease, both in seconds
WITH taken AS (
    SELECT event_id
    FROM outbox
    WHERE created_at < now() - make_interval(secs => $1) AND (leased_until IS NULL OR leased_until < now())
    ORDER BY created_at, ordinal
    LIMIT $2
    FOR UPDATE SKIP LOCKED
), leased AS (
    UPDATE outbox
    SET leased_until = now() + make_interval(secs => $3)
    FROM taken
    WHERE outbox.event_id = taken.event_id
    RETURNING outbox.*
)
SELECT leased.event_id, leased.record_key, leased.traceparent, coalesce(leased.event, grants.event)
FROM leased
LEFT JOIN grants ON grants.transaction_id = leased.transaction_id
ORDER BY leased.created_at, leased.ordinal;
