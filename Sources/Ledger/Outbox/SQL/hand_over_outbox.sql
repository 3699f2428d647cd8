-- Leaves events to whichever worker looks first. $1 events that no worker has in memory
UPDATE outbox SET leased_until = '-infinity' WHERE event_id = ANY ($1::uuid[]) AND leased_until IS NULL;
