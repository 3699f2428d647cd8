-- Whether it was had, until COMMIT, without waiting for anyone. $1 what, see AdvisoryLock
SELECT pg_try_advisory_xact_lock($1);
