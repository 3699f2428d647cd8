-- Counts production units and their price by product, day and currency. Granted units count on the day of purchase,
-- revoked units on the day of the revocation.
-- $1 first day, $2 last day; $3 the time zone of the days; $4 an app, or null
WITH span AS (
    SELECT $1::date::timestamp AT TIME ZONE $3 AS beginning, ($2::date + 1)::timestamp AT TIME ZONE $3 AS ending
), counted AS (
    -- The statement scans the whole table, once.
    SELECT product_id, (told.at AT TIME ZONE $3)::date AS day, told.granted, told.revoked,
        CASE WHEN price_milliunits IS NOT NULL THEN currency END AS currency,
        price_milliunits::numeric * (told.granted - told.revoked) / quantity AS price
    FROM span, grants
    CROSS JOIN LATERAL (
        VALUES (coalesce(purchased_at, granted_at), quantity, 0), (revoked_at, 0, coalesce(revoked_units, quantity))
    ) AS told (at, granted, revoked)
    WHERE environment = 'Production' AND ($4::text IS NULL OR bundle_id = $4)
        -- Leaves out a grant whose purchase and revocation are both outside these days.
        AND (coalesce(purchased_at, granted_at) >= beginning AND coalesce(purchased_at, granted_at) < ending
            OR revoked_at >= beginning AND revoked_at < ending)
        AND told.at >= beginning AND told.at < ending
)
SELECT product_id, day::text, sum(granted)::int8 AS granted, sum(revoked)::int8 AS revoked, currency,
    CASE WHEN currency IS NOT NULL
        THEN greatest(-9e18, least(9e18, round(coalesce(sum(price), 0))))::int8 END AS milliunits
FROM counted
GROUP BY product_id, day, currency
ORDER BY product_id, day, currency;
