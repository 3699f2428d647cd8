-- $1 days since then; at most $2 rows at a time
DELETE FROM replays
WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM replays WHERE day <= (now() AT TIME ZONE 'UTC')::date - $1::int4 LIMIT $2));
