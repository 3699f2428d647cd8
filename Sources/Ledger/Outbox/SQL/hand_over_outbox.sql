-- Marks events that no worker has in memory, so that any worker may lease them at once. $1 events
UPDATE outbox SET leased_until = '-infinity' WHERE event_id = ANY ($1::uuid[]) AND leased_until IS NULL;
