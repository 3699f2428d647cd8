-- Returns the number of the table's blocks, null if the table does not exist. $1 its name
SELECT pg_relation_size(to_regclass($1::text)) / current_setting('block_size')::int8 AS blocks;
