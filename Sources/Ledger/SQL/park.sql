-- Parks many at a time; one that waits already stays as it is. What lies behind a parked offset may have been decided.
-- $1–$20 a column each; $21 how many of a player's wait by their own delay, $22 seconds for the others;
-- $24 tries at Apple; $23 seconds between two of a player who has too many in memory: in order, and never many at once
WITH given AS (
    SELECT *, row_number() OVER (PARTITION BY player_id, reason = 'player_share' ORDER BY number) AS place
    FROM unnest(
        $1::uuid[], $2::text[], $3::int4[], $4::int8[], $5::timestamptz[], $6::uuid[], $7::text[], $8::text[],
        $9::text[], $10::bytea[], $11::text[], $12::text[], $13::int4[], $14::jsonb[], $15::timestamptz[],
        $16::int4[], $17::float8[], $18::bytea[], $19::text[], $20::bytea[], $24::text[])
        WITH ORDINALITY AS given (
            id, source_topic, source_partition, source_offset, source_timestamp, submission_key, submission_id,
            player_id, bundle_id, proof, reason, detail, failures, doubts, first_failure_at, parkings, delay,
            content, traceparent, submission, tries, number)
), fresh AS (
    INSERT INTO parked (
        id, source_topic, source_partition, source_offset, source_timestamp, submission_key, submission_id, player_id,
        bundle_id, proof, reason, detail, failures, doubts, first_failure_at, parkings, tries, due_at)
    SELECT id, source_topic, source_partition, source_offset, source_timestamp, submission_key, submission_id,
        player_id, bundle_id, proof, reason, detail, failures, doubts, first_failure_at, parkings, tries,
        CASE
            WHEN reason = 'player_share' THEN
                greatest(now(), (
                    SELECT max(known.due_at) FROM parked AS known
                    WHERE known.player_id = given.player_id AND known.reason = 'player_share'))
                + make_interval(secs => $23 * place)
            WHEN place + (
                SELECT count(*) FROM (
                    SELECT FROM parked AS known
                    WHERE known.player_id = given.player_id AND known.reason <> 'player_share' LIMIT $21) AS counted
            ) > $21 THEN now() + make_interval(secs => greatest(delay, $22 * (0.5 + random() / 2)))
            ELSE now() + make_interval(secs => delay)
        END
    FROM given
    ORDER BY id
    ON CONFLICT DO NOTHING
    RETURNING id
), progressed AS (
    -- Rounded up and written rarely, as a batch's.
    INSERT INTO partition_progress AS known (topic, partition, writer, decided_offset)
    SELECT topic, partition, -1, (decided / 4096 + 1) * 4096
    FROM (
        SELECT source_topic AS topic, source_partition AS partition, max(source_offset) AS decided
        FROM given GROUP BY source_topic, source_partition ORDER BY source_topic, source_partition
    ) AS progress
    WHERE progress.decided > coalesce((
        SELECT before.decided_offset FROM partition_progress AS before
        WHERE before.topic = progress.topic AND before.partition = progress.partition AND before.writer = -1
        LIMIT 1), -1)
    ON CONFLICT (topic, partition, writer) DO UPDATE SET decided_offset = excluded.decided_offset
        WHERE known.decided_offset < excluded.decided_offset
)
INSERT INTO parked_submissions (id, content, traceparent, submission)
SELECT id, content, traceparent, submission FROM given JOIN fresh USING (id)
ON CONFLICT DO NOTHING;
