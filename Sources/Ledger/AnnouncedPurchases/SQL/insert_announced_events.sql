-- Inserts events into the outbox, in publishing order.
-- The grant's row has the bytes of a grant's event.
-- $1 events; $2 topic; $3 record keys; $4 the transactions of grants' events, otherwise null; $5 the bytes of all other
-- events, otherwise null
INSERT INTO outbox (event_id, source_topic, source_partition, ordinal, record_key, transaction_id, event)
SELECT event.id, $2, 0, event.number::int4, event.record_key, event.transaction_id, event.value
FROM unnest($1::uuid[], $3::text[], $4::text[], $5::bytea[])
    WITH ORDINALITY AS event (id, record_key, transaction_id, value, number)
ON CONFLICT DO NOTHING;
