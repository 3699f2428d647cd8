-- Returns the UTC day that was $1 days ago.
SELECT (now() AT TIME ZONE 'UTC')::date - $1::int4 AS first_day;
