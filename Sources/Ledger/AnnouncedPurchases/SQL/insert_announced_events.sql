-- Inserts events into the outbox, in publishing order.
-- $1 events; $2 topic; $3 record keys; $4 the transaction if the event is a grant's, because the grant has the event's
-- bytes; otherwise null; $5 the bytes of any other event; null for a grant's
INSERT INTO outbox (event_id, source_topic, source_partition, ordinal, record_key, transaction_id, event)
SELECT event.id, $2, 0, event.number::int4, event.record_key, event.transaction_id, event.value
FROM unnest($1::uuid[], $3::text[], $4::text[], $5::bytea[])
    WITH ORDINALITY AS event (id, record_key, transaction_id, value, number)
ON CONFLICT DO NOTHING;
