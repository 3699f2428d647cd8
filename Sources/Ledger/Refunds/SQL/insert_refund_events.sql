-- Inserts the events of refunds into the outbox. $1–$7 a column each, in the order of decisions
INSERT INTO outbox (event_id, source_topic, source_partition, ordinal, record_key, traceparent, event)
SELECT * FROM unnest($1::uuid[], $2::text[], $3::int4[], $4::int4[], $5::text[], $6::text[], $7::bytea[])
ON CONFLICT DO NOTHING;
