-- A promoted replica has a new timeline, a restored dump another database. A server that acknowledges commits before they
-- are on its disk may forget some when it crashes: then each of its lives counts as a history.
SELECT concat_ws('/',
    substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8),
    (SELECT oid FROM pg_database WHERE datname = current_database()),
    CASE WHEN 'off' IN (current_setting('synchronous_commit'), current_setting('fsync'))
        THEN pg_postmaster_start_time() END);
