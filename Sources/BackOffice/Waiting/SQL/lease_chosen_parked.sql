-- Leases parked submissions for an operator, due or not, the oldest first. A lease that ends more than ten minutes from
-- now counts as over: a clock that was ahead must have written it.
-- $1 seconds; $2 how many; $3–$6 a submission, an app, a reason, a player, or null; $7 the latest time of parking, or
-- null; $8 rows to leave out
WITH chosen AS (
    SELECT id
    FROM parked
    WHERE submission_id = $3 AND ($4::text IS NULL OR bundle_id = $4) AND ($5::text IS NULL OR reason = $5)
        AND ($6::text IS NULL OR player_id = $6)
        AND (leased_until IS NULL OR leased_until NOT BETWEEN now() AND now() + interval '10 minutes')
        AND id <> ALL ($8::uuid[])
    UNION ALL
    (SELECT one.id
    FROM kinds_of_parked($4, $5) AS kind
    CROSS JOIN LATERAL (
        SELECT id, parked_at
        FROM parked
        WHERE bundle_id = kind.bundle_id AND reason = kind.reason AND parked_at <= coalesce($7::timestamptz, 'infinity')
            AND ($6::text IS NULL OR player_id = $6)
            AND (leased_until IS NULL OR leased_until NOT BETWEEN now() AND now() + interval '10 minutes')
            AND id <> ALL ($8::uuid[])
        ORDER BY parked_at, id
        LIMIT $2
    ) AS one
    WHERE $3::text IS NULL
    ORDER BY one.parked_at, one.id
    LIMIT $2)
), wanted AS (
    SELECT id
    FROM parked
    WHERE id = ANY (ARRAY(SELECT id FROM chosen))
        AND (leased_until IS NULL OR leased_until NOT BETWEEN now() AND now() + interval '10 minutes')
    ORDER BY id
    LIMIT $2
    FOR UPDATE SKIP LOCKED
), leased AS (
    UPDATE parked
    SET leased_until = now() + make_interval(secs => $1)
    WHERE id = ANY (ARRAY(SELECT id FROM wanted))
    RETURNING *
)
SELECT leased.id, source_topic, source_partition, source_offset, source_timestamp, stored.content, proof,
    stored.traceparent, stored.submission, reason, failures, doubts, first_failure_at, parkings, true AS is_due,
    leased_until, tries, false AS is_decided_again
FROM leased
CROSS JOIN LATERAL (
    SELECT content, traceparent, submission FROM parked_submissions WHERE parked_submissions.id = leased.id LIMIT 1
) AS stored
ORDER BY leased.parked_at, leased.id;
