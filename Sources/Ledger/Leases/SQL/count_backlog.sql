-- Counts up to $1 rows each: a metric need not cost a scan. $2 since when the outbox holds any
SELECT
    (SELECT count(*) FROM (SELECT FROM parked LIMIT $1) AS counted) AS parked,
    (SELECT count(*) FROM (SELECT FROM holds LIMIT $1) AS counted) AS held,
    (SELECT count(*) FROM (SELECT FROM outbox WHERE created_at >= $2::timestamptz LIMIT $1) AS counted) AS unpublished,
    (SELECT count(*) FROM (SELECT FROM announced_purchases WHERE state = 'unclaimed' LIMIT $1) AS counted) AS unclaimed;
