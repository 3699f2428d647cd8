INSERT INTO parked (
    id, source_topic, source_partition, source_offset, source_timestamp, submission_key, submission_id, player_id,
    bundle_id, reason, sql_state, detail, traceparent, submission)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
ON CONFLICT DO NOTHING;
