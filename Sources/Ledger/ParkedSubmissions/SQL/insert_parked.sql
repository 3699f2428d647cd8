-- Parks many submissions. A submission that is already parked keeps its row. Each row raises its partition's offset in
-- partition_progress, as a decision does, so that a worker looks the record up if Kafka delivers it again.
-- A submission with the reason crashed has already killed its workers. Its row is a suspect with one try left. Returns
-- the submissions that are not parked. Their proofs are not proven, and a limit is reached: the player's unproven
-- proofs ($21), the player's unproven rows ($26), or the bytes of the fleet's unproven submissions ($27).
-- $1–$20 a column each; $21 how many unproven proofs of a player may wait; also how many rows a player may have
-- before each further row waits longer than its own delay; $22 how many further rows are counted; $23 seconds between
-- two tries of a player who has more rows, or too many submissions in memory; $24 tries at Apple; $25 whether the proof
-- is proven; $26 how many unproven rows of a player may wait; $27 how many more bytes of unproven submissions may be
-- parked; $28 the game servers' order ids
WITH given AS (
    SELECT *, row_number() OVER (PARTITION BY player_id, reason = 'player_share' ORDER BY number) AS place,
        min(number) OVER (PARTITION BY player_id, is_proven, proof) AS first_number,
        row_number() OVER (PARTITION BY player_id, is_proven ORDER BY number) AS place_of_kind
    FROM unnest(
        $1::uuid[], $2::text[], $3::int4[], $4::int8[], $5::timestamptz[], $6::uuid[], $7::text[], $8::text[],
        $9::text[], $10::bytea[], $11::text[], $12::text[], $13::int4[], $14::jsonb[], $15::timestamptz[],
        $16::int4[], $17::float8[], $18::bytea[], $19::text[], $20::bytea[], $24::text[], $25::boolean[], $28::text[])
        WITH ORDINALITY AS given (
            id, source_topic, source_partition, source_offset, source_timestamp, submission_key, submission_id,
            player_id, bundle_id, proof, reason, detail, failures, doubts, first_failure_at, parkings, delay,
            content, traceparent, submission, tries, is_proven, order_id, number)
), known AS (
    SELECT players.player_id, count(parked.proof) AS rows, count(DISTINCT parked.proof) AS proofs
    FROM (SELECT DISTINCT player_id FROM given WHERE NOT is_proven) AS players
    LEFT JOIN parked ON parked.player_id = players.player_id AND NOT parked.is_proven
    GROUP BY players.player_id
), compared AS (
    SELECT given.*, known.rows, known.proofs,
        NOT is_proven AND EXISTS (
            SELECT FROM parked AS other
            WHERE other.player_id = given.player_id AND other.proof = given.proof AND NOT other.is_proven) AS is_known
    FROM given LEFT JOIN known USING (player_id)
), known_rows AS (
    SELECT compared.*, EXISTS (SELECT FROM parked AS same WHERE same.id = compared.id) AS is_parked FROM compared
), shared AS (
    SELECT *,
        NOT is_proven AND NOT is_parked
        AND (NOT is_known AND proofs + dense_rank() OVER (
                PARTITION BY player_id, is_proven, is_known ORDER BY first_number) > $21
            OR rows + place_of_kind > $26) AS is_beyond_share
    FROM known_rows
), judged AS (
    SELECT *,
        is_beyond_share
        OR NOT is_proven AND NOT is_parked
            AND sum(CASE WHEN is_proven OR is_parked OR is_beyond_share THEN 0 ELSE octet_length(submission) END)
                OVER (ORDER BY number) > $27 AS is_refused
    FROM shared
), fresh AS (
    INSERT INTO parked (
        id, source_topic, source_partition, source_offset, source_timestamp, submission_key, submission_id, player_id,
        bundle_id, proof, reason, detail, failures, doubts, first_failure_at, parkings, tries, is_proven, order_id, takes,
        deaths_alone, due_at)
    SELECT id, source_topic, source_partition, source_offset, source_timestamp, submission_key, submission_id,
        player_id, bundle_id, proof, reason, detail, failures, doubts, first_failure_at, parkings, tries, is_proven,
        order_id, CASE WHEN reason = 'crashed' THEN 3 ELSE 0 END, CASE WHEN reason = 'crashed' THEN 3 ELSE 0 END,
        CASE
            WHEN reason = 'player_share' THEN
                greatest(now(), (
                    SELECT max(known.due_at) FROM parked AS known
                    WHERE known.player_id = judged.player_id AND known.reason = 'player_share'))
                + make_interval(secs => $23 * place)
            ELSE
                now() + make_interval(secs => delay + $23 * greatest(0, place - $21 + (
                    SELECT count(*) FROM (
                        SELECT FROM parked AS known
                        WHERE known.player_id = judged.player_id AND known.reason <> 'player_share' LIMIT $21 + $22
                    ) AS counted)))
        END
    FROM judged
    WHERE NOT is_refused
    ORDER BY id
    ON CONFLICT DO NOTHING
    RETURNING id
), progressed AS (
    -- The offset is rounded up and written rarely, as for a batch.
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
), stored AS (
    INSERT INTO parked_submissions (id, content, traceparent, submission)
    SELECT id, content, traceparent, submission FROM given JOIN fresh USING (id)
    ON CONFLICT DO NOTHING
), weighed AS (
    INSERT INTO parked_weights (id, bytes)
    SELECT id, octet_length(submission) FROM given JOIN fresh USING (id) WHERE NOT is_proven
    ON CONFLICT DO NOTHING
)
SELECT database_history() AS history, judged.id AS refused_id
FROM (VALUES (1)) AS always (row) LEFT JOIN judged ON judged.is_refused;
