-- $1 an app, $2 a reason, or null
SELECT count(*) AS unclaimed
FROM announced_purchases
WHERE state = 'unclaimed' AND ($1::text IS NULL OR bundle_id = $1) AND ($2::text IS NULL OR reason = $2);
