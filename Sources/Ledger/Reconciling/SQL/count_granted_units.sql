-- Units of production and their price by product, day and currency: granted by the day of purchase, taken back by the day of
-- the revocation. $1 first day, $2 last day; $3 the time zone of the days; $4 an app, or null
WITH span AS (
    SELECT $1::date::timestamp AT TIME ZONE $3 AS beginning, ($2::date + 1)::timestamp AT TIME ZONE $3 AS ending
), counted AS (
    SELECT product_id, (coalesce(purchased_at, granted_at) AT TIME ZONE $3)::date AS day, quantity AS granted, 0 AS revoked,
        CASE WHEN price_milliunits IS NOT NULL THEN currency END AS currency, price_milliunits::numeric AS price
    FROM grants, span
    WHERE environment = 'Production' AND ($4::text IS NULL OR bundle_id = $4)
        AND coalesce(purchased_at, granted_at) >= beginning AND coalesce(purchased_at, granted_at) < ending
    UNION ALL
    SELECT product_id, (revoked_at AT TIME ZONE $3)::date, 0, coalesce(revoked_units, quantity),
        CASE WHEN price_milliunits IS NOT NULL THEN currency END,
        -price_milliunits::numeric * coalesce(revoked_units, quantity) / quantity
    FROM grants, span
    WHERE environment = 'Production' AND ($4::text IS NULL OR bundle_id = $4)
        AND revoked_at >= beginning AND revoked_at < ending
)
SELECT product_id, day::text, sum(granted)::int8 AS granted, sum(revoked)::int8 AS revoked, currency,
    CASE WHEN currency IS NOT NULL
        THEN greatest(-9e18, least(9e18, round(coalesce(sum(price), 0))))::int8 END AS milliunits
FROM counted
GROUP BY product_id, day, currency
ORDER BY product_id, day, currency;
