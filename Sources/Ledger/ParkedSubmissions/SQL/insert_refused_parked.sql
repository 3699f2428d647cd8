-- Parks a submission whose data the database refused. If the submission is already parked, its row waits for an
-- operator from now on.
WITH row AS (
    INSERT INTO parked AS known (
        id, source_topic, source_partition, source_offset, source_timestamp, submission_key, submission_id, player_id,
        bundle_id, proof, reason, sql_state, detail, order_id)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $17)
    ON CONFLICT (id) DO UPDATE
    SET reason = excluded.reason, sql_state = excluded.sql_state, detail = excluded.detail, due_at = NULL,
        leased_until = NULL
    RETURNING id
), stored AS (
    INSERT INTO parked_submissions (id, content, traceparent, submission)
    SELECT id, $14, $15, $16 FROM row
    ON CONFLICT DO NOTHING
)
SELECT database_history() AS history;
