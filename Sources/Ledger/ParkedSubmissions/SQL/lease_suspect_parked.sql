-- Leases a suspect, which has three leases without a result, for a try in isolation. If $2 workers died while they
-- tried the suspect, sets it aside instead, and does not return the submission. The first time, the suspect waits $3
-- seconds for one last try, and the second time for an operator.
-- A lease that ends more than ten minutes from now counts as over: a clock that was ahead must have written it.
-- $1 seconds of the lease; $2 deaths; $3 seconds until the last try
WITH suspect AS (
    SELECT id, deaths_alone + is_alone::integer AS deaths, NOT is_alone OR deaths_alone + 1 < $2 AS is_tried
    FROM parked
    WHERE due_at <= now() AND takes >= 3 AND (leased_until IS NULL OR leased_until NOT BETWEEN now() AND now() + interval '10 minutes')
    ORDER BY due_at
    LIMIT 1
    FOR UPDATE SKIP LOCKED
), changed AS (
    UPDATE parked
    SET deaths_alone = deaths, takes = takes + 1, is_alone = is_tried,
        leased_until = CASE WHEN is_tried THEN now() + make_interval(secs => $1) END,
        reason = CASE WHEN is_tried THEN reason ELSE 'crashed' END,
        detail = CASE WHEN is_tried THEN detail
            ELSE format('%s workers died while they tried this submission in isolation', deaths) END,
        due_at = CASE WHEN is_tried THEN due_at WHEN deaths <= $2 THEN now() + make_interval(secs => $3) END
    FROM suspect
    WHERE parked.id = suspect.id
    RETURNING parked.*
)
SELECT changed.id, source_topic, source_partition, source_offset, source_timestamp,
    CASE WHEN is_alone THEN content END AS content, proof, traceparent, CASE WHEN is_alone THEN submission END AS submission, reason, failures,
    doubts, first_failure_at, parkings, true AS is_due, leased_until, tries, is_alone, submission_id, bundle_id, deaths_alone,
    due_at IS NOT NULL AS is_tried_again,
    EXISTS (
        SELECT FROM offsets_decided_again AS lost
        WHERE lost.topic = changed.source_topic AND lost.partition = changed.source_partition
            AND lost.below_offset > changed.source_offset
            -- The hour is LostDecisions.clockMargin.
            AND lost.fell_back_at + interval '1 hour' >= changed.source_timestamp) AS is_decided_again
FROM changed
JOIN parked_submissions USING (id);
