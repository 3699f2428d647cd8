-- Finds the SQL transactions that have locked any of these tables, the oldest first. A prepared transaction has no
-- session. A role without pg_monitor does not see the age of other roles' sessions, and finds them only if $2 is 0.
-- $1 tables; $2 the least age in seconds
SELECT held.pid, activity.application_name, activity.usename::text AS role,
    min(relation.name) AS table_name,
    extract(epoch FROM clock_timestamp() - coalesce(activity.xact_start, min(prepared.prepared)))::float8 AS seconds
FROM (SELECT name, to_regclass(name)::oid AS oid FROM unnest($1::text[]) AS wanted (name)) AS relation
JOIN pg_locks AS held ON held.locktype = 'relation' AND held.relation = relation.oid AND held.granted
    AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
LEFT JOIN pg_stat_activity AS activity ON activity.pid = held.pid
LEFT JOIN pg_prepared_xacts AS prepared
    ON held.pid IS NULL AND held.virtualtransaction = '-1/' || prepared.transaction::text
WHERE held.pid IS DISTINCT FROM pg_backend_pid()
    -- Autovacuum cancels itself when a session waits for its lock for a second.
    AND coalesce(activity.query, '') NOT LIKE 'autovacuum:%'
GROUP BY held.pid, activity.application_name, activity.usename, activity.xact_start
HAVING $2::float8 <= 0
    OR coalesce(activity.xact_start, min(prepared.prepared)) <= clock_timestamp() - make_interval(secs => $2::float8)
ORDER BY seconds DESC NULLS LAST
LIMIT 5;
