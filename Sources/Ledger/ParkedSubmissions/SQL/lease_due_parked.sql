-- Leases due rows, oldest first, and parked rows with the same apps and proofs. Leaves suspects, which have three
-- leases without a result, to the statement file lease_suspect_parked.sql.
-- A lease that ends more than ten minutes from now counts as over: a clock that was ahead must have written it.
-- $1 how many at most of each kind; $2 seconds of the lease
WITH due AS (
    SELECT id, bundle_id, proof
    FROM parked
    WHERE due_at <= now() AND takes < 3 AND (leased_until IS NULL OR leased_until NOT BETWEEN now() AND now() + interval '10 minutes')
    ORDER BY due_at
    LIMIT $1
    FOR UPDATE SKIP LOCKED
), alike AS (
    SELECT other.id
    FROM (SELECT DISTINCT bundle_id, proof FROM due) AS taken
    CROSS JOIN LATERAL (
        SELECT id
        FROM parked
        WHERE proof = taken.proof AND bundle_id = taken.bundle_id AND due_at IS NOT NULL AND takes < 3
            AND (leased_until IS NULL OR leased_until NOT BETWEEN now() AND now() + interval '10 minutes') AND id NOT IN (SELECT id FROM due)
        LIMIT $1
        FOR UPDATE SKIP LOCKED
    ) AS other
    LIMIT $1
), leased AS (
    UPDATE parked
    SET leased_until = now() + make_interval(secs => $2), takes = takes + 1
    WHERE id IN (SELECT id FROM due UNION SELECT id FROM alike)
    RETURNING *
)
SELECT leased.id, source_topic, source_partition, source_offset, source_timestamp, content, proof, traceparent,
    submission, reason, failures, doubts, first_failure_at, parkings, due_at <= now() AS is_due, leased_until, tries,
    EXISTS (
        SELECT FROM offsets_decided_again AS lost
        WHERE lost.topic = leased.source_topic AND lost.partition = leased.source_partition
            AND lost.below_offset > leased.source_offset
            -- The hour is LostDecisions.clockMargin.
            AND lost.fell_back_at + interval '1 hour' >= leased.source_timestamp) AS is_decided_again
FROM leased
JOIN parked_submissions USING (id)
ORDER BY due_at, source_topic, source_partition, source_offset;
