-- Leases for an operator, whether due or not. $1 seconds; $2 how many; $3–$5 a submission, an app, a reason, or null; $6 rows to leave out
-- A lease that ends later than any can was given while the clock was ahead: it is over.
WITH wanted AS (
    SELECT id
    FROM parked
    WHERE ($3::text IS NULL OR submission_id = $3) AND ($4::text IS NULL OR bundle_id = $4)
        AND ($5::text IS NULL OR reason = $5) AND (leased_until IS NULL OR leased_until NOT BETWEEN now() AND now() + interval '10 minutes')
        AND id <> ALL ($6::uuid[])
    ORDER BY id
    LIMIT $2
    FOR UPDATE SKIP LOCKED
), leased AS (
    UPDATE parked
    SET leased_until = now() + make_interval(secs => $1)
    WHERE id IN (SELECT id FROM wanted)
    RETURNING *
)
SELECT leased.id, source_topic, source_partition, source_offset, source_timestamp, content, proof, traceparent,
    submission, reason, failures, doubts, first_failure_at, parkings, true, leased_until, tries
FROM leased
JOIN parked_submissions USING (id)
ORDER BY leased.id;
