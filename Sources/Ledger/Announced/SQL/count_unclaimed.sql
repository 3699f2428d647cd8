-- $1 an app, $2 a reason, $3 a transaction, or null
SELECT count(*) AS unclaimed
FROM announced_purchases
WHERE state = 'unclaimed' AND ($1::text IS NULL OR bundle_id = $1) AND ($2::text IS NULL OR reason = $2)
    AND ($3::text IS NULL OR transaction_id = $3);
