-- Where the server does not tell of its write-ahead log: every restart counts as another history.
SELECT concat_ws('/',
    (SELECT oid FROM pg_database WHERE datname = current_database()), pg_postmaster_start_time());
