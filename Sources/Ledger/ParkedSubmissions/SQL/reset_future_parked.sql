-- What is due later than anything can be was put there while the clock was ahead: it is due now. $1 seconds; $2 how many
UPDATE parked SET due_at = now()
WHERE id = ANY (ARRAY(
    SELECT id FROM parked WHERE due_at > now() + make_interval(secs => $1)
    ORDER BY due_at DESC LIMIT $2 FOR UPDATE SKIP LOCKED));
