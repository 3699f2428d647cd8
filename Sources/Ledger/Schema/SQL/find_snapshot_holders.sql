-- Finds the SQL transactions that keep an old snapshot, the oldest first. CREATE INDEX CONCURRENTLY waits for them.
-- A role without pg_monitor does not see the age of other roles' sessions, and finds them only if $1 is 0.
-- $1 the least age in seconds
SELECT pid, application_name, usename::text AS role, ''::text AS table_name,
    extract(epoch FROM clock_timestamp() - xact_start)::float8 AS seconds
FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
    AND (backend_xmin IS NOT NULL AND xact_start <= clock_timestamp() - make_interval(secs => $1::float8)
        OR $1::float8 <= 0 AND xact_start IS NULL AND EXISTS (
            SELECT FROM pg_locks WHERE pg_locks.pid = pg_stat_activity.pid AND locktype = 'virtualxid' AND granted))
ORDER BY seconds DESC NULLS LAST
LIMIT 5;
