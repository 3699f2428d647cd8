-- Leases due finishes, oldest first. A row whose event is still in the outbox gets a later due time instead. The delay
-- is about half of the time that the row has waited, within limits.
-- $1 how many at most; $2, $3 the shortest and the longest lease, in seconds; $4 how many rows are read; $5 days for
-- which workers try to report to Apple
WITH due AS (
    SELECT transaction_id, due_at,
        -- For EXISTS, the planner might build a hash of the whole table.
        (SELECT true FROM outbox WHERE outbox.event_id = finishes.event_id LIMIT 1) IS NOT NULL AS is_owed
    FROM finishes
    WHERE due_at <= now()
    ORDER BY due_at
    LIMIT $4
    FOR UPDATE OF finishes SKIP LOCKED
), ready AS (
    SELECT transaction_id, due_at AS was_due_at FROM due WHERE NOT is_owed ORDER BY due_at LIMIT $1
), waiting AS (
    UPDATE finishes
    SET due_at = now()
        + make_interval(secs => greatest(2, least(600, extract(epoch FROM now() - created_at) / 2)) * (1 + random()))
    WHERE transaction_id = ANY (ARRAY(SELECT transaction_id FROM due WHERE is_owed))
), leased AS (
    UPDATE finishes
    SET due_at = now() + make_interval(secs => least($3, $2 * 2 ^ least(takes, 20)) * (1 + random() / 2)),
        tries = tries + 1, takes = takes + 1
    -- For a join, the planner might read the whole table.
    WHERE transaction_id = ANY (ARRAY(SELECT transaction_id FROM ready))
    RETURNING *
)
SELECT transaction_id, bundle_id, environment, tries, leased.due_at AS lease,
    created_at + make_interval(days => $5) <= now() AS is_past_its_time
FROM leased
JOIN ready USING (transaction_id)
ORDER BY was_due_at, transaction_id;
