-- Counts up to $1 rows each: a metric need not cost a scan.
SELECT
    (SELECT count(*) FROM (SELECT FROM parked LIMIT $1) AS counted),
    (SELECT count(*) FROM (SELECT FROM holds LIMIT $1) AS counted),
    (SELECT count(*) FROM (SELECT FROM outbox LIMIT $1) AS counted);
