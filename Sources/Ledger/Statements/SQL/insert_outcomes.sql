-- The last statement of a batch. Fewer outcomes than sent: another replica has decided some of these records.
-- $1–$13 outcomes sorted by key, $7…: see the columns; $11 array literals
-- $14–$21 events to publish, sorted by id; $22–$25 proofs, sorted; $26–$29 progress, sorted; $30 acknowledged events; $31 outcomes' traces
WITH decided AS (
    INSERT INTO outcomes (
        day, source_topic, source_partition, source_offset, content, submission_key, submission_id, player_id,
        bundle_id, proof, granted_transaction_ids, answer, decided_at, story)
    SELECT day, source_topic, source_partition, source_offset, content, submission_key, submission_id, player_id,
        bundle_id, proof, granted::text[], answer, decided_at, story
    FROM unnest(
        $1::date[], $2::text[], $3::int4[], $4::int8[], $5::bytea[], $6::uuid[], $7::text[], $8::text[],
        $9::text[], $10::bytea[], $11::text[], $12::bytea[], $13::timestamptz[],
        $31::text[])
        AS outcome (
            day, source_topic, source_partition, source_offset, content, submission_key, submission_id, player_id,
            bundle_id, proof, granted, answer, decided_at, story)
    ON CONFLICT DO NOTHING
    RETURNING 1
), queued AS (
    INSERT INTO outbox (
        event_id, source_topic, source_partition, ordinal, record_key, traceparent, transaction_id, event)
    SELECT *
    FROM unnest(
        $14::uuid[], $15::text[], $16::int4[], $17::int4[], $18::text[], $19::text[], $20::text[], $21::bytea[])
    ON CONFLICT DO NOTHING
), proven AS (
    INSERT INTO proofs (proof, evidence, transaction_ids, seen_on)
    SELECT proof, evidence, transactions::text[], seen_on
    FROM unnest($22::bytea[], $23::bytea[], $24::text[], $25::date[])
        AS proven (proof, evidence, transactions, seen_on)
    ON CONFLICT DO NOTHING
), progressed AS (
    -- Up to the next multiple of 4096, and only where the row does not say so yet: a row that every batch changes becomes
    -- dear while a backup keeps its old versions. Too high a mark costs look-ups, too low a one would be wrong.
    INSERT INTO partition_progress AS known (topic, partition, writer, decided_offset)
    SELECT topic, partition, writer, (decided / 4096 + 1) * 4096
    FROM unnest($26::text[], $27::int4[], $28::int4[], $29::int8[]) AS progress (topic, partition, writer, decided)
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
