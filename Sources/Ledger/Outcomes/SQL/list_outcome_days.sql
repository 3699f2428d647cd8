-- Lists the outcomes' day partitions by name, with the server's clock in microseconds of Unix time. If there is no
-- partition, returns one row with only the clock.
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::int8 AS now, child.relname::text AS name
FROM (VALUES (1)) AS always (one)
LEFT JOIN (pg_inherits JOIN pg_class AS child ON child.oid = inhrelid)
    ON inhparent = 'outcomes'::regclass AND child.relname ~ '^outcomes_[0-9]{8}$'
ORDER BY child.relname;
