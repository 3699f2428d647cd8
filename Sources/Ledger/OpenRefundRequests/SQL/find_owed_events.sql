-- Finds the events that the broker has not acknowledged. $1 events
SELECT event_id FROM outbox WHERE event_id = ANY ($1::uuid[]);
