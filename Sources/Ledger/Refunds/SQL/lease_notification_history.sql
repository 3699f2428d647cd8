-- Leases one app's history if it is due and no replica has leased it. Ignores a stored time that is later than any
-- lease or round can be, because PostgreSQL's clock was ahead when it was written.
-- If the row still has a suspect, a process died while it worked on the suspect, unless the suspect is $5.
-- $1 bundle; $2 environment; $3 seconds of the lease; $4 the most seconds until a round; $5 the notification that this
-- process last isolated and survived, or null
INSERT INTO notification_history AS known (bundle_id, environment, leased_until, starts)
VALUES ($1, $2, now() + make_interval(secs => $3), 1)
ON CONFLICT (bundle_id, environment) DO UPDATE
SET leased_until = excluded.leased_until, starts = known.starts + 1, suspect = NULL,
    culprit = CASE WHEN known.suspect <> coalesce($5::bytea, '') THEN known.suspect ELSE known.culprit END,
    culprit_deaths = CASE
        WHEN known.suspect IS NULL OR known.suspect = $5::bytea THEN known.culprit_deaths
        WHEN known.suspect = known.culprit THEN known.culprit_deaths + 1
        ELSE 1
    END
WHERE known.leased_until NOT BETWEEN now() AND now() + interval '10 minutes'
    AND known.due_at NOT BETWEEN now() AND now() + make_interval(secs => $4)
RETURNING taken_until, leased_until, starts, culprit, culprit_deaths, set_aside, page_from, page_to, page_token,
    now() AS read_at;
