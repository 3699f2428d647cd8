-- How many blocks a table has now, null where it is gone. $1 its name
SELECT pg_relation_size(to_regclass($1::text)) / current_setting('block_size')::int8 AS blocks;
