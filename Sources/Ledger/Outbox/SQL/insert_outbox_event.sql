-- Inserts an event into the outbox.
-- $1 event; $2 topic; $3 partition; $4 record key; $5 traceparent; $6 the transaction of a grant's event, otherwise
-- null; $7 the bytes of any other event, otherwise null
INSERT INTO outbox (event_id, source_topic, source_partition, ordinal, record_key, traceparent, transaction_id, event)
VALUES ($1, $2, $3, 0, $4, $5, $6, $7)
ON CONFLICT DO NOTHING;
