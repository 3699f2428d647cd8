-- When the last of each kind was, in UNIX seconds, and how many there were.
SELECT kind, extract(epoch FROM max(last_at))::float8 AS last_seconds, sum(count)::int8 AS count FROM incidents GROUP BY kind;
