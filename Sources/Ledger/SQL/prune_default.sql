-- $1 days since it was decided; at most $2 rows at a time
DELETE FROM outcomes_default
WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM outcomes_default WHERE decided_at < now() - make_interval(days => $1) LIMIT $2));
