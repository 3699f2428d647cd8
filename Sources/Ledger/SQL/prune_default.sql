-- Another row may stand there by now. $1 the day, as it was found; $2 places
DELETE FROM outcomes_default
WHERE ctid = ANY ($2::text[]::tid[]) AND decided_at < $1::date::timestamp AT TIME ZONE 'UTC';
