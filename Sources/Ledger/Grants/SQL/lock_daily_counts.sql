-- Locks each count until COMMIT.
-- $1 numbers of the locks, sorted
SELECT pg_advisory_xact_lock(number) FROM unnest($1::int8[]) AS number;
