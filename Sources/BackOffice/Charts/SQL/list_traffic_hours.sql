-- in: $1 since timestamptz, $2 seconds of a bin int8
-- out: bins, numbered from the epoch
SELECT floor(extract(epoch FROM began_at))::int8 / $2::int8 AS bin, kind, name, sum(count)::int8 AS count
FROM traffic_hours
WHERE began_at >= $1::timestamptz
GROUP BY 1, 2, 3
