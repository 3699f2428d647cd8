-- Whose transactions read as of an earlier time, the oldest first: an index that is built beside writers waits for them. Of others'
-- sessions a role may not be told the age: then they are listed where any age will do. $1 seconds at least
SELECT pid, application_name, usename::text AS role, ''::text AS table_name,
    extract(epoch FROM clock_timestamp() - xact_start)::float8 AS seconds
FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
    AND (backend_xmin IS NOT NULL AND xact_start <= clock_timestamp() - make_interval(secs => $1::float8)
        OR $1::float8 <= 0 AND xact_start IS NULL AND EXISTS (
            SELECT FROM pg_locks WHERE pg_locks.pid = pg_stat_activity.pid AND locktype = 'virtualxid' AND granted))
ORDER BY seconds DESC NULLS LAST
LIMIT 5;
