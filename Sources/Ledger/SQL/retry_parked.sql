-- Due now and free of suspicion, but for those that someone works on. $1–$3 a submission, an app, a reason, or null; $4 how
-- many, the oldest first, or null
UPDATE parked
SET due_at = now(), takes = 0, is_alone = false, deaths_alone = 0
WHERE id IN (
        SELECT id
        FROM parked
        WHERE ($1::text IS NULL OR submission_id = $1) AND ($2::text IS NULL OR bundle_id = $2)
            AND ($3::text IS NULL OR reason = $3) AND (leased_until IS NULL OR leased_until < now())
        ORDER BY parked_at, id
        LIMIT $4::int8
    ) AND (leased_until IS NULL OR leased_until < now());
