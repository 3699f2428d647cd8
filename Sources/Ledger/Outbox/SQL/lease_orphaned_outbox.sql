-- Leases events that their worker has not published, oldest first. Also leases an event with a future time, and ignores
-- a lease that is too long: PostgreSQL's clock was ahead when they were written.
-- $1 least age in seconds; $2 how many at most; $3 the lease in seconds; $4 the time at which the search starts
WITH taken AS (
    SELECT event_id
    FROM outbox
    WHERE created_at >= $4::timestamptz AND created_at < now() - make_interval(secs => $1)
        AND (leased_until IS NULL OR leased_until NOT BETWEEN now() AND now() + interval '10 minutes')
    ORDER BY created_at, ordinal
    LIMIT $2
    FOR UPDATE SKIP LOCKED
), ahead AS (
    SELECT event_id
    FROM outbox
    WHERE created_at > now() + interval '1 minute'
        AND (leased_until IS NULL OR leased_until NOT BETWEEN now() AND now() + interval '10 minutes')
    ORDER BY created_at, ordinal
    LIMIT $2
    FOR UPDATE SKIP LOCKED
), leased AS (
    UPDATE outbox
    SET leased_until = now() + make_interval(secs => $3)
    FROM (SELECT event_id FROM taken UNION ALL SELECT event_id FROM ahead) AS chosen
    WHERE outbox.event_id = chosen.event_id
    RETURNING outbox.*
)
SELECT leased.event_id, leased.record_key, leased.traceparent, coalesce(leased.event, grants.event) AS event,
    grants.period_id
FROM leased
LEFT JOIN grants ON grants.transaction_id = leased.transaction_id
ORDER BY leased.created_at, leased.ordinal;
