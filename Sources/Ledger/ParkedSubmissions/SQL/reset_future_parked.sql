-- Makes rows due now that are due later than any row can be: they were written while PostgreSQL's clock was ahead.
-- $1 seconds ahead of now; $2 how many at most
UPDATE parked SET due_at = now()
WHERE id = ANY (ARRAY(
    SELECT id FROM parked WHERE due_at > now() + make_interval(secs => $1)
    ORDER BY due_at DESC LIMIT $2 FOR UPDATE SKIP LOCKED));
