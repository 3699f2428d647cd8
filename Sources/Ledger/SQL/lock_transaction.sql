-- One at a time until COMMIT. $1 what, see AdvisoryLock
SELECT pg_advisory_xact_lock($1);
