-- database_history
-- A promoted replica has a new timeline, a restored dump another database. A data directory that is put back has neither:
-- but its server was started, and so each of a server's lives counts as a history.
SELECT concat_ws('/',
    substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8),
    (SELECT oid FROM pg_database WHERE datname = current_database()),
    pg_postmaster_start_time());
