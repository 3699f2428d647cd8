-- $1 events that the broker has acknowledged
DELETE FROM outbox WHERE event_id = ANY ($1::uuid[]);
