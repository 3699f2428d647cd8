-- All, and those that someone works on. $1–$3 a submission, an app, a reason, or null
SELECT count(*), count(*) FILTER (WHERE leased_until > now())
FROM parked
WHERE ($1::text IS NULL OR submission_id = $1) AND ($2::text IS NULL OR bundle_id = $2)
    AND ($3::text IS NULL OR reason = $3);
