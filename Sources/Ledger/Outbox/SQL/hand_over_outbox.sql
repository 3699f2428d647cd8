-- Hands events that no worker has in memory to the worker that leases first. $1 events
UPDATE outbox SET leased_until = '-infinity' WHERE event_id = ANY ($1::uuid[]) AND leased_until IS NULL;
