-- Units of production by product and day: granted by the day of purchase, taken back by the day of the revocation.
-- $1 first day, $2 last day; $3 the time zone of the days; $4 an app, or null
WITH span AS (
    SELECT $1::date::timestamp AT TIME ZONE $3 AS beginning, ($2::date + 1)::timestamp AT TIME ZONE $3 AS ending
), counted AS (
    SELECT product_id, (coalesce(purchased_at, granted_at) AT TIME ZONE $3)::date AS day, quantity AS granted, 0 AS revoked
    FROM grants, span
    WHERE environment = 'Production' AND ($4::text IS NULL OR bundle_id = $4)
        AND coalesce(purchased_at, granted_at) >= beginning AND coalesce(purchased_at, granted_at) < ending
    UNION ALL
    SELECT product_id, (revoked_at AT TIME ZONE $3)::date, 0, quantity
    FROM grants, span
    WHERE environment = 'Production' AND ($4::text IS NULL OR bundle_id = $4)
        AND revoked_at >= beginning AND revoked_at < ending
)
SELECT product_id, day::text, sum(granted)::int8 AS granted, sum(revoked)::int8 AS revoked
FROM counted
GROUP BY product_id, day
ORDER BY product_id, day;
