-- Sets a later due time for a row after a try without a verdict.
-- $1 row; $2 its lease; $3 reason; $4 detail; $5 failures; $6 doubts; $7 first failure; $8 parkings; $9 seconds to
-- wait; $10 tries at Apple
UPDATE parked
SET reason = $3, detail = $4, failures = $5, doubts = $6, first_failure_at = $7, parkings = $8,
    due_at = now() + make_interval(secs => $9), leased_until = NULL, tries = $10, takes = 0, is_alone = false,
    deaths_alone = 0
WHERE id = $1 AND leased_until = $2;
