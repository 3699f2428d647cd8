-- Inserts a batch's outcomes, events and proofs. It is the last statement of a batch. It returns a lower count than the
-- number of outcomes if another replica has decided some of the records.
-- $1–$13 outcomes sorted by key, a column each ($11 array literals); $14–$21 events to publish, sorted by id; $22–$25
-- proofs, sorted; $26–$29 progress, sorted; $30 acknowledged events; $31 the outcomes' traces
WITH decided AS (
    INSERT INTO outcomes (
        day, source_topic, source_partition, source_offset, content, submission_key, submission_id, player_id,
        bundle_id, proof, granted_transaction_ids, answer, decided_at, story)
    SELECT unnest($1::date[]), unnest($2::text[]), unnest($3::int4[]), unnest($4::int8[]), unnest($5::bytea[]),
        unnest($6::uuid[]), unnest($7::text[]), unnest($8::text[]), unnest($9::text[]), unnest($10::bytea[]),
        unnest($11::text[])::text[], unnest($12::bytea[]), unnest($13::timestamptz[]), unnest($31::text[])
    ON CONFLICT DO NOTHING
    RETURNING 1
), queued AS (
    INSERT INTO outbox (
        event_id, source_topic, source_partition, ordinal, record_key, traceparent, transaction_id, event)
    SELECT unnest($14::uuid[]), unnest($15::text[]), unnest($16::int4[]), unnest($17::int4[]), unnest($18::text[]),
        unnest($19::text[]), unnest($20::text[]), unnest($21::bytea[])
    ON CONFLICT DO NOTHING
), proven AS (
    INSERT INTO proofs (proof, evidence, transaction_ids, seen_on)
    SELECT unnest($22::bytea[]), unnest($23::bytea[]), unnest($24::text[])::text[], unnest($25::date[])
    ON CONFLICT DO NOTHING
), progressed AS (
    -- The offset is rounded up to a multiple of 4096, and written only if the record is above the stored offset. If
    -- every batch changed the row, the row would be expensive while a backup keeps its old versions. An offset that is
    -- too high costs only queries, but one that is too low would be wrong.
    INSERT INTO partition_progress AS known (topic, partition, writer, decided_offset)
    SELECT topic, partition, writer, (decided / 4096 + 1) * 4096
    FROM (
        SELECT unnest($26::text[]) AS topic, unnest($27::int4[]) AS partition, unnest($28::int4[]) AS writer,
            unnest($29::int8[]) AS decided
    ) AS progress
    WHERE progress.decided > coalesce((
        SELECT before.decided_offset FROM partition_progress AS before
        WHERE before.topic = progress.topic AND before.partition = progress.partition AND before.writer = progress.writer
        LIMIT 1), -1)
    ON CONFLICT (topic, partition, writer) DO UPDATE SET decided_offset = excluded.decided_offset
        WHERE known.decided_offset < excluded.decided_offset
), acknowledged AS (
    DELETE FROM outbox WHERE event_id = ANY ($30::uuid[])
)
SELECT count(*) AS decided, database_history() AS history FROM decided;
