-- Moves the place up to which the history is read, and extends the lease. The place moves back only if it was written
-- while PostgreSQL's clock was ahead.
-- $1 bundle; $2 environment; $3 the lease; $4 the place, or null if the window continues; $5 seconds of the lease; $6,
-- $7, $8 that window and the token of its next page, or null
UPDATE notification_history
SET taken_until = CASE
        WHEN taken_until > now() + interval '10 minutes' THEN coalesce($4, taken_until)
        ELSE greatest(taken_until, $4)
    END, starts = 0,
    leased_until = now() + make_interval(secs => $5),
    page_from = $6, page_to = $7, page_token = $8
WHERE bundle_id = $1 AND environment = $2 AND leased_until = $3
RETURNING taken_until, leased_until;
