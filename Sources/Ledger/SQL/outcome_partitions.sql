-- The day partitions there are, by name, and today by this server's clock, in UTC.
SELECT (now() AT TIME ZONE 'UTC')::date, child.relname::text
FROM (VALUES (1)) AS always (one)
LEFT JOIN (pg_inherits JOIN pg_class AS child ON child.oid = inhrelid)
    ON inhparent = 'outcomes'::regclass AND child.relname ~ '^outcomes_[0-9]{8}$'
ORDER BY child.relname;
