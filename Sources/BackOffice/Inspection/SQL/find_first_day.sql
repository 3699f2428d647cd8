-- The UTC day of so many days ago. $1 days
SELECT (now() AT TIME ZONE 'UTC')::date - $1::int4 AS first_day;
