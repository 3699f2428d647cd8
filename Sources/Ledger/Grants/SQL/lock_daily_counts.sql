-- One transaction at a time for each, until COMMIT. $1 numbers, sorted
SELECT pg_advisory_xact_lock(number) FROM unnest($1::int8[]) AS number;
