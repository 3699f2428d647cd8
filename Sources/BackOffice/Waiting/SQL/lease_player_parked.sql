-- Leases a player's parked submissions for an operator, due or not. A lease that ends more than ten minutes from now
-- counts as over: a clock that was ahead must have written it.
-- $1 seconds; $2 how many; $3 player; $4 rows to leave out
WITH wanted AS (
    SELECT id
    FROM parked
    WHERE id = ANY (ARRAY(
            SELECT id FROM parked WHERE player_id = $3 AND reason <> 'player_share'
            UNION ALL
            SELECT id FROM parked WHERE player_id = $3 AND reason = 'player_share'))
        AND (leased_until IS NULL OR leased_until NOT BETWEEN now() AND now() + interval '10 minutes')
        AND id <> ALL ($4::uuid[])
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
ORDER BY leased.id;
