-- Counts rows of each kind, up to a limit, because a metric must not cost a scan.
-- $1 how many at most; $2 the time before which the outbox has no rows
SELECT
    (SELECT count(*) FROM (SELECT FROM parked LIMIT $1) AS counted) AS parked,
    (SELECT count(*) FROM (SELECT FROM holds LIMIT $1) AS counted) AS held,
    (SELECT count(*) FROM (SELECT FROM outbox WHERE created_at >= $2::timestamptz LIMIT $1) AS counted) AS unpublished,
    (SELECT count(*) FROM (SELECT FROM announced_purchases WHERE state = 'unclaimed' LIMIT $1) AS counted) AS unclaimed;
