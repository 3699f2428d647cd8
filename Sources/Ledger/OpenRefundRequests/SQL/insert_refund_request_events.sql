-- Inserts the events of refund requests into the outbox. $1 events, $2 their ordinals, $3 record keys, $4 bytes; $5 the
-- text instead of a record's topic
INSERT INTO outbox (event_id, source_topic, source_partition, ordinal, record_key, event)
SELECT event_id, $5, -1, ordinal, record_key, event
FROM unnest($1::uuid[], $2::int4[], $3::text[], $4::bytea[]) AS told (event_id, ordinal, record_key, event)
ON CONFLICT DO NOTHING;
