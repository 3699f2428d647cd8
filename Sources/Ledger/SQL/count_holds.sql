-- All, and those whose release is under way. $1–$3 a transaction, an app, a reason, or null
SELECT count(*), count(*) FILTER (WHERE released_at IS NOT NULL)
FROM holds
WHERE ($1::text IS NULL OR transaction_id = $1) AND ($2::text IS NULL OR bundle_id = $2)
    AND ($3::text IS NULL OR reason = $3);
