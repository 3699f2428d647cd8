-- Returns the time of each kind's last incident in Unix seconds, and the number of incidents.
SELECT kind, extract(epoch FROM max(last_at))::float8 AS last_seconds, sum(count)::int8 AS count FROM incidents GROUP BY kind;
